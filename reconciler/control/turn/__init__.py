"""One turn: observe, decide, re-validate, actuate, report."""
