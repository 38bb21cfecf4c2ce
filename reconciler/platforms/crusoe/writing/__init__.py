"""The calls that read Crusoe and write to it (experimental: tried only on a server of our own)."""
