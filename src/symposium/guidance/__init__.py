"""How an agent is to work here: our texts, and those that others put before them."""
