"""Plans and recommendations: the components of a chain, for an editor and for a workspace."""
