"""What happened in each session, kept in short: to be read again, and to be handed over."""
