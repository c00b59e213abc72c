"""The sources of dependencies: which version, where it is, searched and read."""
