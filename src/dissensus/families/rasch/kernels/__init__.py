"""Compiled sweeps, and what they are made of."""
