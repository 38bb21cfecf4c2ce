"""Demand that other programs kept: their files as traces."""
