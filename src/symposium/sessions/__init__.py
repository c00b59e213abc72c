"""Agent sessions that keep running when the terminal closes, and their server processes."""
