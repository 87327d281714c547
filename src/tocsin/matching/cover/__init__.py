"""Covering: whether one filter lets through all that another does."""
