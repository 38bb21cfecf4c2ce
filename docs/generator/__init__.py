"""Pages of the reference, made from the code that they describe."""
