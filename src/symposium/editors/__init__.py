"""Editors that can start us: where their settings are, and how to change and unchange them."""
