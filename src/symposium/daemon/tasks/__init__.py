"""Taskspaces on the bus, for people: the engine's answers, its agents, and what waits for whom."""
