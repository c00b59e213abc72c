"""Routes the messages of a chain between client, mods and agent, and owns what runs in it."""
