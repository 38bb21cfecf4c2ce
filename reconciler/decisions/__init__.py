"""World and policy -> plan: effective values, scale up, scale down, limits, ownership, memory. Pure."""
