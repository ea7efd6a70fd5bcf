"""Code shared by the models of crossed effects."""
