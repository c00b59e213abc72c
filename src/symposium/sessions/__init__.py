"""Agent sessions that outlive the terminal, and their server processes."""
