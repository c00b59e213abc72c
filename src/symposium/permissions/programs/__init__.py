"""Tables of programs: what each reads, writes, and runs."""
