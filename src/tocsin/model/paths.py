"""The addresses of a node's doors."""

EVENTS = "/events"  # CloudEvents over HTTP
