"""The Dialect: a query language for places in code."""
