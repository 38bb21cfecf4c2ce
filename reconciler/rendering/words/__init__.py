"""The words for parts of a plan, the same in every format."""
