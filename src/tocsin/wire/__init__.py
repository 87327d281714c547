"""Sockets: what comes in by the servers, what goes out by the guarded HTTP client."""
