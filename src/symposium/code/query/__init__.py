"""The query language that finds places in code."""
