"""`/api`: one file a resource."""
