"""One file a target kind: fetch and write, no shaping. Edge."""
