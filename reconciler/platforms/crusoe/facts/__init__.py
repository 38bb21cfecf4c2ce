"""Node pools of Crusoe Managed Kubernetes and what stands around them, read from their JSON."""
