"""Agents that outlive the terminal: what is kept of each, and how to reach and to end it."""
