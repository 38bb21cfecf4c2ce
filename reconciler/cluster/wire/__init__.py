"""Kubernetes objects pruned to the fields that a decision can depend on; everything else is skipped while decoding."""
