"""A search for a better policy on past demand."""
