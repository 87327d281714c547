"""The world of implicit notification: taxonomies, services, the interest graph (INO)."""
