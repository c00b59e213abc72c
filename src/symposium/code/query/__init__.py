"""Query language for places in code."""
