"""Scripted agent for tests of clients and chains."""
