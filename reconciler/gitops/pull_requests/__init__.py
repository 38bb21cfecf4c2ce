"""Pull requests of a host, and our comments on them."""
