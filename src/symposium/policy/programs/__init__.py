"""Tables of common programs: what each option and operand does."""
