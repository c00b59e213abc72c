"""`make bench`: compare chains with a direct pipe, `cat`, and proxies of the SDKs."""
