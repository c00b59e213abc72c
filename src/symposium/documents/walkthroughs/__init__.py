"""Walkthroughs: Markdown with comments on code, diffs, diagrams, and actions."""
