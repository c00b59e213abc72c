"""Walkthroughs: Markdown with comments on code, real diffs, diagrams and actions."""
