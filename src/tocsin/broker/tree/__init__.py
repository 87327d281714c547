"""Hierarchical dispatch in a node: its neighbours are subscribers, and it asks its parent for what is asked of it."""
