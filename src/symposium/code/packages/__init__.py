"""Sources of dependencies: find the version, download it, search it, and read it."""
