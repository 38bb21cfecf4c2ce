"""Amounts, instants and selectors as the API writes them."""
