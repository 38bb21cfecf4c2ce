"""Schemas and reference, generated from the field model of policies and from the types of what is printed."""
