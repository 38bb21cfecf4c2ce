"""The leader, its memory, other autoscalers, and announcements."""
