"""Clusters that nobody chose: drawn from a seed, with the spread of sizes, prices and rules that real ones have."""
