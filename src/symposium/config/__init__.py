"""What the user has set: where it is, how it is read, and how it is changed without harm."""
