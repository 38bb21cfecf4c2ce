"""What commands read: policies, clusters, traces."""
