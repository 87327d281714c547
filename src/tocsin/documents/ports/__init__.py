"""What the doors ask of the node."""
