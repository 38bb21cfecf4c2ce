"""The calls that read AWS and write to it."""
