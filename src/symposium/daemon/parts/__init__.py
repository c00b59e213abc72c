"""Parts of the daemon: one module with one `PartSpec` each; the catalog finds them."""
