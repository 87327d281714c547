"""SOAP, WS-Addressing, WS-Security, and the engine that reads and writes messages by their tables."""
