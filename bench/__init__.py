"""What `make bench` runs: a chain of ours beside the direct pipe, `cat` and the SDKs' proxies."""
