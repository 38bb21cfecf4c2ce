"""Auto Scaling groups: what their JSON and that of the objects around them says. The same text offline and live."""
