"""`symposium run`: an editor connection, chains by config, and settings in the chat."""
