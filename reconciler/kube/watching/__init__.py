"""Collections that are followed as they change, and the World that they make."""
