"""The bus between the parts of the host: typed messages, pure routing, a client."""
