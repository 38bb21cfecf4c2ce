"""Sets of nodes or pod shapes by index."""
