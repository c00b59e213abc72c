"""What `symposium run` does: one editor connection, chains by config, settings in the chat."""
