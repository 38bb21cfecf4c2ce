"""The bottom layer: readers of texts and JSON of any origin into plain values. It does not depend on policies or clusters."""
