"""What is plugged into the daemon: one module and one `PartSpec` each, found by the catalog."""
