"""Whether pods would run on nodes: one file per predicate, placement, kernels. Pure."""
