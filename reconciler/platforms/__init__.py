"""The platforms whose targets are sized: one folder each, and one line in `registered`."""
