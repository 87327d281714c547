"""The shell that runs notifiers in a node: queues in, the machines stepped, everything written, then sent."""
