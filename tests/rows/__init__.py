"""One test for every row of the table of behaviours that a decision or a report shows."""
