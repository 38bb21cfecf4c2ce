"""Data that the command carries with it, so that it has something to show in an empty folder."""
