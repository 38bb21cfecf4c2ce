"""How large a tree of policies may be."""

MAX_FILES = 10_000
MAX_TREE_BYTES = 16 << 20
"""Together with its answer, a tree has room in the temporary directory of a pod, which is evicted beyond 64 MiB."""
