"""Permissions of agents: policy rules, workspace trust, and the audit log."""
