"""Proxies on third-party SDKs, for comparison."""
