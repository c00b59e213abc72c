"""Local I/O: files, processes, git, archives, downloads, and the formats and text of them."""
