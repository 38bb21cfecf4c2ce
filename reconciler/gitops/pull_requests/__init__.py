"""Pull requests of a host: what is said in them."""
