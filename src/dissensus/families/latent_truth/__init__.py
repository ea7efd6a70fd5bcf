"""What the models of a latent truth share, and their cards need not show."""
