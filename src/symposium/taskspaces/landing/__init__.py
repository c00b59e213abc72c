"""Bringing work together: conflicts foreseen, branches landed, never by force."""
