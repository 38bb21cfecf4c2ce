"""Files for Kubernetes and for a policy tree, written from what is there."""
