"""Plans of new studies."""
