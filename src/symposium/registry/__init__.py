"""The agents one can have: which there are, how each is got, and what is installed."""
