"""What is worth mending, whatever the plan of the moment."""
