"""The addresses of a node's doors; those of the API's resources stand with their documents."""

BROKER = "/broker"  # every dialect of SOAP
PUBLISH = "/broker/publish"  # raw events; the topic may follow
TOPIC_DOCUMENTS = "/broker/topics"
EVENTS = "/events"  # CloudEvents over HTTP
NOTIFIER_DOORS = "/notifiers"  # Publish and Notify, below it the name of the service
HEALTH = "/healthz"
API = "/api"
REPLIES = "/api/replies"  # where a receiver replies, and in SOAP
SOAP_REPLIES = "/broker/replies"
OPENAPI = "/api/openapi.json"
STATUS = "/api/status"
NOTIFICATIONS = "/api/notifications"  # what a thin notice points to
