"""What a rollout of a group would take."""
