"""ACP methods, roles, and the method names that each version uses for proxies."""
