"""What asks AWS and writes to it."""
