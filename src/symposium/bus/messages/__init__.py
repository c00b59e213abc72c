"""Every message of the bus: one module and one class each, found by the catalog."""
