"""Data sets, simulated studies, and plans of new ones."""
