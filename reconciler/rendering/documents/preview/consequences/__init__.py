"""What a policy change causes, each effect graded: what a reviewer must know before all else."""
