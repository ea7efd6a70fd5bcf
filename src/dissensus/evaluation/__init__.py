"""Evaluations: from annotations and predictions to draws and tables."""
