"""The Dialect: a small language of calls that finds places in code."""
