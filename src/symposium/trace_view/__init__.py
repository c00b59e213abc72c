"""Reads a recorded trace and shows it in a terminal or as a page."""
