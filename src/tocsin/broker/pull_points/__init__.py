"""What is kept for those who fetch it."""
