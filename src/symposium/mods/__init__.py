"""Built-in mods: one module each, with one `ComponentSpec`."""
