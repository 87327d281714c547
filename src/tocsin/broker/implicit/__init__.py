"""Implicit notification in a node: the world, the notifiers that run here, their results."""
