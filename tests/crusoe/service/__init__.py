"""Crusoe's API on a server of our own, over HTTP and with behaviour: nothing of it could be tried on the platform itself."""
