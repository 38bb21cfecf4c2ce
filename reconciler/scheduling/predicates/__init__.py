"""One file a filter plugin of kube-scheduler 1.36. NodeName has none: it only looks at pods that already name a node."""
