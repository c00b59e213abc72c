"""Agent without a model: Weizenbaum's program of 1966, with its own script."""
