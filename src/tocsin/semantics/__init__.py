"""Meaning: concept models, event graphs, and the world of implicit notification."""
