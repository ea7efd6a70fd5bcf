"""Tables in, checked Datasets out."""
