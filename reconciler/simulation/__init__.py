"""A cluster in memory with a clock of its own; scenarios; the settled column. Pure."""
