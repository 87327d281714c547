"""Namespace names and action URIs, exactly as the specifications write them."""

SOAP_11 = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP_11_ACTORS = "http://schemas.xmlsoap.org/soap/actor/"
SOAP_12 = "http://www.w3.org/2003/05/soap-envelope"
WSA_2005 = "http://www.w3.org/2005/08/addressing"
WSA_2004 = "http://schemas.xmlsoap.org/ws/2004/08/addressing"
WSA_2004_03 = "http://schemas.xmlsoap.org/ws/2004/03/addressing"  # GT4
WSA_2003 = "http://schemas.xmlsoap.org/ws/2003/03/addressing"
WSA_SOAP_FAULT = f"{WSA_2005}/soap/fault"
WSSE = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"

WSN = "http://docs.oasis-open.org/wsn/b-2"
WSN_CONSUMER = "http://docs.oasis-open.org/wsn/bw-2/NotificationConsumer"
WSN_PRODUCER = "http://docs.oasis-open.org/wsn/bw-2/NotificationProducer"
WSN_MANAGER = "http://docs.oasis-open.org/wsn/bw-2/SubscriptionManager"
WSN_PAUSABLE = "http://docs.oasis-open.org/wsn/bw-2/PausableSubscriptionManager"
WSN_PULL_POINT = "http://docs.oasis-open.org/wsn/bw-2/PullPoint"
WSN_CREATE_PULL_POINT = "http://docs.oasis-open.org/wsn/bw-2/CreatePullPoint"
WSN_BROKERED = "http://docs.oasis-open.org/wsn/br-2"
WSN_REGISTER = "http://docs.oasis-open.org/wsn/brw-2/RegisterPublisher"
WSN_REGISTRATION = "http://docs.oasis-open.org/wsn/brw-2/PublisherRegistrationManager"
WSRF_PROPERTIES = "http://docs.oasis-open.org/wsrf/rp-2"
WSRF_PROPERTIES_PORTS = "http://docs.oasis-open.org/wsrf/rpw-2"
WSRF_LIFETIME = "http://docs.oasis-open.org/wsrf/rl-2"
WSRF_LIFETIME_PORTS = "http://docs.oasis-open.org/wsrf/rlw-2"
WSN_FAULT_ACTION = "http://docs.oasis-open.org/wsn/fault"
WSRF_FAULTS = "http://docs.oasis-open.org/wsrf/bf-2"
WSRF_RESOURCE = "http://docs.oasis-open.org/wsrf/r-2"
TOPICS = "http://docs.oasis-open.org/wsn/t-1/TopicExpression"
TOPICS_1_2 = "http://docs.oasis-open.org/wsn/2004/06/TopicExpression"
TOPICS_1_0 = "http://www.ibm.com/xmlns/stdwip/web-services/WS-Topics/TopicExpression"
WSN_1_2 = "http://docs.oasis-open.org/wsn/2004/06/wsn-WS-BaseNotification-1.2-draft-01.xsd"
WSN_1_2_ACTIONS = "http://docs.oasis-open.org/wsn/2004/06/wsn-WS-BaseNotification"
WSN_1_2_BROKERED = "http://docs.oasis-open.org/wsn/2004/06/wsn-WS-BrokeredNotification-1.2-draft-01.xsd"
WSN_1_2_BROKERED_ACTIONS = "http://docs.oasis-open.org/wsn/2004/06/wsn-WS-BrokeredNotification"
WSRF_1_2_PROPERTIES = "http://docs.oasis-open.org/wsrf/2004/06/wsrf-WS-ResourceProperties-1.2-draft-01.xsd"
WSRF_1_2_PROPERTIES_ACTIONS = "http://docs.oasis-open.org/wsrf/2004/06/wsrf-WS-ResourceProperties"
WSRF_1_2_LIFETIME = "http://docs.oasis-open.org/wsrf/2004/06/wsrf-WS-ResourceLifetime-1.2-draft-01.xsd"
WSRF_1_2_LIFETIME_ACTIONS = "http://docs.oasis-open.org/wsrf/2004/06/wsrf-WS-ResourceLifetime"
WSRF_1_2_FAULTS = "http://docs.oasis-open.org/wsrf/2004/06/wsrf-WS-BaseFaults-1.2-draft-01.xsd"
WSN_1_0 = "http://www.ibm.com/xmlns/stdwip/web-services/WS-BaseNotification"
WSRF_1_0_PROPERTIES = "http://www.ibm.com/xmlns/stdwip/web-services/WS-ResourceProperties"
WSRF_1_0_LIFETIME = "http://www.ibm.com/xmlns/stdwip/web-services/WS-ResourceLifetime"
ONVIF_DEVICE = "http://www.onvif.org/ver10/device/wsdl"
ONVIF_EVENTS = "http://www.onvif.org/ver10/events/wsdl"
ONVIF_SCHEMA = "http://www.onvif.org/ver10/schema"
ONVIF_ERRORS = "http://www.onvif.org/ver10/error"
ONVIF_CONCRETE_SET = "http://www.onvif.org/ver10/tev/topicExpression/ConcreteSet"
ONVIF_ITEM_FILTER = "http://www.onvif.org/ver10/tev/messageContentFilter/ItemFilter"

WSE = "http://schemas.xmlsoap.org/ws/2004/08/eventing"
WSE_PUSH = f"{WSE}/DeliveryModes/Push"
WSE_2011 = "http://www.w3.org/2011/03/ws-evt"
WSE_2004_01 = "http://schemas.xmlsoap.org/ws/2004/01/eventing"
WSE_TOPIC_FILTER = "http://docs.oasis-open.org/wsn"  # WS-Messenger's own dialect for topics in a WS-Eventing filter
DPWS_ACTIONS = (
    "http://docs.oasis-open.org/ws-dd/ns/dpws/2009/01/Action",
    "http://schemas.xmlsoap.org/ws/2006/02/devprof/Action",
)
XPATH_10 = "http://www.w3.org/TR/1999/REC-xpath-19991116"

TOCSIN = "urn:tocsin:payload"
POLICY = "urn:tocsin:policy"
RESOURCE = "urn:tocsin:resource"
NOTIFIER = "urn:tocsin:notifier"
XML = "http://www.w3.org/XML/1998/namespace"

SOAP_VERSIONS = {SOAP_11: "1.1", SOAP_12: "1.2"}
SOAP_NAMESPACES = {version: namespace for namespace, version in SOAP_VERSIONS.items()}
WSA_VERSIONS = {WSA_2005: "2005/08", WSA_2004: "2004/08", WSA_2004_03: "2004/03", WSA_2003: "2003/03"}
WSA_NAMESPACES = {version: namespace for namespace, version in WSA_VERSIONS.items()}
