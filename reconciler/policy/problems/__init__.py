"""What is wrong with a policy text: codes, places, carets, suggestions."""
