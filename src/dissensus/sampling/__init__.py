"""Code that all fits share: checks of input, sampling, diagnostics, and the DataTree."""
