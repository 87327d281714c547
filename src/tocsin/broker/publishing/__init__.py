"""From a request at a door to a record on disk."""
