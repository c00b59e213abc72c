"""Reviews of what an agent has changed, as a pull request would show it, and what people say."""
