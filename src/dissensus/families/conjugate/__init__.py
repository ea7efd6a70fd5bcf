"""Models whose items have a posterior in closed form."""
