"""Texts of policies read into values: durations, quantities, schedules, patterns."""
