"""What an agent may do: rules, trust, and the log of both."""
