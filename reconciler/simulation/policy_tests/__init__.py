"""Policy tests: what is given becomes a cluster, and what was found is held against what is expected."""
