"""Rules of the user's on what an agent may do: read, judged and explained; asks nobody."""
