"""Compiled sweeps of votes on pairs, block by block."""
