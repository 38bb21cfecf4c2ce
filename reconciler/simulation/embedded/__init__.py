"""A cluster in memory with a clock of its own."""
