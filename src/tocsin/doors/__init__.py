"""Where requests come in: SOAP, events, notifiers, other nodes, the JSON API. Nothing passes without a right."""
