"""Many clusters in one document: their previews, their plans, their loops."""
