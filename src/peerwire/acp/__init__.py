"""ACP's vocabulary: methods, roles, and the names that each era uses for proxies."""
