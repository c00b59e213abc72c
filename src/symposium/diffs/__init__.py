"""What git says has changed: asked without letting a repository run anything, as plain values."""
