"""Settings of other autoscalers as a policy."""
