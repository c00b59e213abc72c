"""Permissions of agents: rules, trust, and the log of both."""
