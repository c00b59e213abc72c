"""Tables of programs: the files they read and write, and the commands they run."""
