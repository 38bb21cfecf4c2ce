"""The loop on a live cluster: its port, its process, what wakes it, what it leaves behind."""
