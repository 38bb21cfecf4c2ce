"""AWS: Auto Scaling groups."""
