"""Command line: option parsing, output, and error messages."""
