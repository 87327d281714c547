"""A client for any dialect: publish, subscribe, consume."""

from tocsin.client.client import Client
from tocsin.client.consumer import Consumer, Received

__all__ = ["Client", "Consumer", "Received"]
