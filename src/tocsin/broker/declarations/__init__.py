"""What filters refer to by name: spaces, types, categories, producers, ontologies, liftings."""
