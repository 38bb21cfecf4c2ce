"""Trailers of commit messages by which people approve what is planned."""
