"""Proxies that others' SDKs make possible, to be measured beside ours."""
