"""What was decided as a plan says it: actions, lines, problems."""
