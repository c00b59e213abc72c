"""The host: everything between an editor and its agents."""
