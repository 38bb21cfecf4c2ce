"""One file a command; heavy imports inside the command. Edge."""
