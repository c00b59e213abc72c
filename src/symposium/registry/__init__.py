"""Agents of the registry: list, install, and start them."""
