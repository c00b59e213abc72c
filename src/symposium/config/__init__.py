"""The user's settings: their location, reading them, and changing them safely."""
