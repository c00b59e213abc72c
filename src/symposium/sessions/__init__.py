"""Agent sessions that outlive the terminal, and the processes that hold them."""
