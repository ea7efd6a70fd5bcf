"""The whole, strung together."""
