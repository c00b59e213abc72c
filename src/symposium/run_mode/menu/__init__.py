"""The menu in the chat."""
