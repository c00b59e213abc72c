"""Reads a trace that a conductor has written, and shows it in a terminal or as a page."""
