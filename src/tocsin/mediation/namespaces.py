"""Namespace names and action URIs, exactly as the specifications write them."""

SOAP_11 = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP_11_ACTORS = "http://schemas.xmlsoap.org/soap/actor/"
SOAP_12 = "http://www.w3.org/2003/05/soap-envelope"
WSA_2005 = "http://www.w3.org/2005/08/addressing"
WSA_2004 = "http://schemas.xmlsoap.org/ws/2004/08/addressing"

WSN = "http://docs.oasis-open.org/wsn/b-2"
WSN_CONSUMER = "http://docs.oasis-open.org/wsn/bw-2/NotificationConsumer"
WSN_PRODUCER = "http://docs.oasis-open.org/wsn/bw-2/NotificationProducer"
WSN_MANAGER = "http://docs.oasis-open.org/wsn/bw-2/SubscriptionManager"
WSN_FAULT_ACTION = "http://docs.oasis-open.org/wsn/fault"
WSRF_FAULTS = "http://docs.oasis-open.org/wsrf/bf-2"
WSRF_RESOURCE = "http://docs.oasis-open.org/wsrf/r-2"
TOPICS = "http://docs.oasis-open.org/wsn/t-1/TopicExpression"

WSE = "http://schemas.xmlsoap.org/ws/2004/08/eventing"
WSE_PUSH = f"{WSE}/DeliveryModes/Push"
WSE_TOPIC_FILTER = "http://docs.oasis-open.org/wsn"  # WS-Messenger's own dialect for topics in a WS-Eventing filter
XPATH_10 = "http://www.w3.org/TR/1999/REC-xpath-19991116"

TOCSIN = "urn:tocsin:payload"
XML = "http://www.w3.org/XML/1998/namespace"

SOAP_VERSIONS = {SOAP_11: "1.1", SOAP_12: "1.2"}
SOAP_NAMESPACES = {version: namespace for namespace, version in SOAP_VERSIONS.items()}
WSA_VERSIONS = {WSA_2005: "2005/08", WSA_2004: "2004/08"}
WSA_NAMESPACES = {version: namespace for namespace, version in WSA_VERSIONS.items()}
