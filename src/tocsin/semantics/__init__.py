"""What things mean to each other: taxonomies of topics and categories, services, and the graph of interests."""
