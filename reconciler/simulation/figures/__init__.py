"""Figures of what happened on the simulated cluster: one rule for cost, node time, pod time and waiting."""
