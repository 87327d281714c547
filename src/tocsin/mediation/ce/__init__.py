"""CloudEvents and plain JSON."""
