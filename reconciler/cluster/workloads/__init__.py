"""Disruption budgets and controllers."""
