"""WS-Notification, WS-Eventing and ONVIF: a module of tables each."""
