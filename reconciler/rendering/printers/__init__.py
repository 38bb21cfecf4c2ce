"""Printers lay out documents and say nothing of their own."""
