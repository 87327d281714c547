"""The addresses of a node's doors, and of the resources of its JSON API."""

BROKER = "/broker"  # every dialect of SOAP
PUBLISH = "/broker/publish"  # raw events; the topic may follow
TOPIC_DOCUMENTS = "/broker/topics"
EVENTS = "/events"  # CloudEvents over HTTP
NOTIFIER_DOORS = "/notifiers"  # Publish and Notify, below it the name of the service
HEALTH = "/healthz"

API = "/api"
OPENAPI = "/api/openapi.json"
STATUS = "/api/status"
SUBSCRIPTIONS = "/api/subscriptions"
CLOUDEVENTS_SUBSCRIPTIONS = "/api/cloudevents/subscriptions"
PULL_POINTS = "/api/pullpoints"
STREAM, SOCKET = "/api/stream", "/api/socket"
TOPICS = "/api/topics"
TOPIC_NAMESPACES, CURRENT_MESSAGE = "/api/topics/namespaces", "/api/topics/current"
REGISTRATIONS = "/api/registrations"
TRACE = "/api/trace"
DEAD_LETTERS = "/api/dead-letters"
SECRETS = "/api/secrets"
CONSENTS = "/api/consents"
SPACES, TYPES, CATEGORIES, PRODUCERS = "/api/spaces", "/api/types", "/api/categories", "/api/producers"
ONTOLOGIES, LIFTINGS = "/api/ontologies", "/api/liftings"
WORLD = "/api/world"
NOTIFIERS, DISSEMINATIONS = "/api/notifiers", "/api/disseminations"
PATTERNS, REQUESTS, INTERACTIONS = "/api/patterns", "/api/requests", "/api/interactions"
NOTIFICATIONS = "/api/notifications"  # what a thin notice points to
