"""What is shown over HTTP: probes, metrics, the plan."""
