"""The loop on the embedded cluster."""
