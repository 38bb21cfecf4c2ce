"""What must be true of a cluster before the loop runs on it."""
