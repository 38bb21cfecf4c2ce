"""One file per filter plugin of kube-scheduler 1.36 and 1.37. NodeName has none, because it only concerns pods that already name
a node."""
