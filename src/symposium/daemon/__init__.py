"""The one long-lived process of a user: the bus, and whatever is plugged into it."""
