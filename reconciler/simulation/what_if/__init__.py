"""Both policies in situations that the cluster is not in today."""
