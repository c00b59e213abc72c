"""Message classes of the bus, one module per topic; the catalog finds them."""
