"""A declarative GitOps reconciler for Kubernetes node groups."""

__version__ = "0.1.0"
