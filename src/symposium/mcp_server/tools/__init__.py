"""Tools for agents, one module for each topic."""
