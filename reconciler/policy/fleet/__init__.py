"""One tree of policies for many clusters."""
