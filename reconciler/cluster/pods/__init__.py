"""Pods as scheduling and draining need them."""
