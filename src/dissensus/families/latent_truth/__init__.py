"""Code shared by the models of a latent truth."""
