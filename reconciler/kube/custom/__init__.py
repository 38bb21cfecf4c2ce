"""Our custom resources as policy, and their status."""
