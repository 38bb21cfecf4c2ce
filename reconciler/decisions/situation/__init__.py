"""What is seen of each group now: nodes, machines under way, what failed and what was denied."""
