"""One module for each way of loading a chain; each takes an open editor and gives figures."""
