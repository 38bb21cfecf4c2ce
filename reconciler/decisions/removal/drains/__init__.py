"""Which pods keep their node."""
