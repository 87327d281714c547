"""What became of one notification."""
