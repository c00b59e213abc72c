"""The processes that hold agents: one keeper for each agent session."""
