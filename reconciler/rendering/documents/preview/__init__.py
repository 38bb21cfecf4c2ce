"""A preview of a policy change as a document: what differs, how grave it is, and what it causes."""
