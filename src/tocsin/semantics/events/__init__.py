"""Event graphs: read, lifted from other payloads, written."""
