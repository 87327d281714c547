"""Normalise, match, customise: composed once, for the node and for Spark."""
