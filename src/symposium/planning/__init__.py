"""Choose the components of a chain for the editor's capabilities; pure: no I/O."""
