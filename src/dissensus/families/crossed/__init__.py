"""What the models of crossed effects share."""
