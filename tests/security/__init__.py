"""Attacks, one file per trust boundary. SECURITY.md has the table from threat to test."""
