"""One module for each editor, found by its name; each makes one `Editor`."""
