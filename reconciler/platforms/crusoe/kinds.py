"""The kind of target on Crusoe."""

NODE_POOL = "NodePool"
READ_LAG_SECONDS = 60
"""Crusoe does not publish how soon a read shows a written count. The time is that of Auto Scaling groups."""
