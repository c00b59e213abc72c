"""The user's settings: location, reading, and safe changes."""
