"""What people and agents attach to a message by a short id, kept until it is expanded."""
