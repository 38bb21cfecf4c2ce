"""Manifests of targets next to the policies, and the sizes in them."""
