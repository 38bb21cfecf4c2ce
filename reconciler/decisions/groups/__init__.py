"""Groups with every value decided: the policy over the facts of targets and nodes."""
