"""What is there: quantities, pruned wire structs, pod and node shapes, the columnar World, snapshot documents. Pure."""
