"""Attacks, one file a trust boundary; SECURITY.md has the table from threat to test."""
