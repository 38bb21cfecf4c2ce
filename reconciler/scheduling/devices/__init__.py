"""Devices as the allocator of dynamic resource allocation sees them: selectors, pools, what is taken, and the search."""
