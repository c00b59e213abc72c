"""An ACP client for our own front ends: one chain, its sessions, and what a person is asked."""
