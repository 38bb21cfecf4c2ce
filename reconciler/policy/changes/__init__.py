"""Two versions of a policy side by side."""
