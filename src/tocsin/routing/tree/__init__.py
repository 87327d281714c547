"""Hierarchical dispatch: nodes form a tree, what is asked for goes up, what is published goes up and down."""
