"""Node pools of Crusoe Managed Kubernetes and the objects around them, read from their JSON."""
