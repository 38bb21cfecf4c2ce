"""The kind of target on Crusoe."""

NODE_POOL = "NodePool"
READ_LAG_SECONDS = 60
"""Nothing is published of how soon a count is read as it was written: as long as for Auto Scaling groups."""
