"""An agent without a model: Weizenbaum's 1966 program, with a script of our own."""
