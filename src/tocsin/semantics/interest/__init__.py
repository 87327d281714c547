"""The world of implicit notification: taxonomies, services, the graph of interests."""
