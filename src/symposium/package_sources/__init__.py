"""Where the source of a dependency is: crates, Python distributions and npm packages."""
