"""Pages and pictures that are made from the registries before each build."""
