"""Local I/O: files, processes, git, archives, downloads, and text formats."""
