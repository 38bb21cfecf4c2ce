"""What is worth fixing, whatever the current plan."""
