"""One module for each load of a chain; each takes an open editor and returns figures."""
