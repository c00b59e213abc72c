"""The command line: parses, builds the objects and runs them."""
