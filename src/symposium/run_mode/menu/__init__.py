"""Menu for settings in the chat."""
