"""Runs a project's build tools, and makes something short of what they say."""
