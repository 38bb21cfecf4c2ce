"""One file per target kind: fetch and write, no shaping. Edge."""
