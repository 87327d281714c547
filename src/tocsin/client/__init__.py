"""A client for any dialect: publish, subscribe, pull, consume; and everything of the JSON API."""
