"""Manifests of targets beside the policies, as far as sizes go."""
