"""What commands are asked with and read: options, policies, clusters, traces."""
