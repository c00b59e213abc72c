"""Selection of a chain's components by the editor's capabilities. No I/O."""
