"""Calls after the first one: recognised, planned, registered."""
