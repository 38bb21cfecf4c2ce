"""Documents of a captured cluster, from bytes to a World and back."""
