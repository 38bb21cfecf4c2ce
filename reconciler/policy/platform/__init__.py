"""What policies may say about the targets of one platform."""
