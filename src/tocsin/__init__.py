"""Tocsin: an event-notification platform."""

__version__ = "0.1.0"
