"""How the parts of the host find and ask each other: typed messages, pure routing, a client."""
