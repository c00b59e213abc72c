"""Implement `symposium run`: one editor connection, chains by config, settings in the chat."""
