"""Publish and subscribe with reply: views of publishers, replies of receivers, and what dispatchers tell."""
