"""Which stored content the user trusts: asked once for each content, not for a name or a place."""
