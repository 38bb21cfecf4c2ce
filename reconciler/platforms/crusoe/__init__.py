"""Crusoe Managed Kubernetes: node pools."""
