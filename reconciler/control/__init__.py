"""The loop: observe -> decide -> re-validate -> actuate -> record. Edge."""
