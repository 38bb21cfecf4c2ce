"""Targets of an API server whose machines are objects of it: the same care for every platform that has them."""
