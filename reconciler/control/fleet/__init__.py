"""Many workload clusters in one process: which of them are ours, and a loop for each."""
