"""Code: IDE operations, diffs, package sources, build tools."""
