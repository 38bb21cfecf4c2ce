"""Who leads, what is remembered, who else is at work, what is announced."""
