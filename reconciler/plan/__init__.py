"""The Plan value: actions, reasons, digest, comparison of two plans. Pure."""
