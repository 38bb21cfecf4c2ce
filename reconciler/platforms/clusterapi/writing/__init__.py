"""How Cluster API's targets are written."""
