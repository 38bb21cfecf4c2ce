"""Everything that led to one outcome, as values: a pod, a node, a group, a value."""
