"""Rules about where pods are relative to other pods: domains, counts in them, spread, affinity, placement under both."""
