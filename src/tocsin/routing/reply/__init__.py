"""Publish and subscribe with reply: replies go back the way the publication came, and are merged on it (paper 001)."""
