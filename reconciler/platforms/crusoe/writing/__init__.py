"""What asks Crusoe and writes to it (experimental: tried on a server of our own only)."""
