"""An agent that does what the prompt says, for testing clients and chains."""
