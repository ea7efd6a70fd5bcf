"""Votes on pairs of systems: Bradley-Terry with ties, voters and prompts."""
