"""A plan for a pull request."""
