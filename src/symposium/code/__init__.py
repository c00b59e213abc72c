"""Code tools: IDE operations, diffs, package sources, and build tools."""
