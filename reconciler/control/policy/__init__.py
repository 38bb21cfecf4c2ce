"""The policy in force, followed from its source or from custom resources."""
