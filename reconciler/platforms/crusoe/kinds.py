"""The kind of target on Crusoe."""

NODE_POOL = "NodePool"
