"""The client library for programs without a loop: `from tocsin.blocking import Client, Consumer`."""

from tocsin.client.blocking import Client, Consumer

__all__ = ["Client", "Consumer"]
