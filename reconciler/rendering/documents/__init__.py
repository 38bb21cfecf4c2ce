"""What is printed, as data: each fact is worded here once."""
