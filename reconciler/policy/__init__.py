"""YAML text -> checked documents, every value with its place; comparison of two policies. Pure, given bytes."""
