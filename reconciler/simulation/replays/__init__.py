"""Demand of the past under a policy, in virtual time."""
