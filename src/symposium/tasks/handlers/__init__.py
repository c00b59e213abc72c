"""Tasks on the bus: the only part of the engine that knows it."""
