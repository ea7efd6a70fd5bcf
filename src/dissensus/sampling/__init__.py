"""What all fits share between their mathematics and the DataTree."""
