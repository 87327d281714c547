"""Deliveries that were given up, and trying them again."""
