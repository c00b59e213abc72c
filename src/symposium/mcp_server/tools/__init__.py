"""One module for each tool that agents can call."""
