"""Tools for agents, one module each."""
