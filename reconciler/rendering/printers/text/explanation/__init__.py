"""Everything that led to one outcome, in words: a pod, a node, a group, a value."""
