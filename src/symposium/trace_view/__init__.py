"""Read a recorded trace and show it in a terminal or as a page."""
