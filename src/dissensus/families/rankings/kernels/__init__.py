"""Compiled sweeps and their parts."""
