"""What objects of other autoscalers become in a policy."""
