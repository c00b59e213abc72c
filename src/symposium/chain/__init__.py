"""One chain of components: its mod API, its routing, its life."""
