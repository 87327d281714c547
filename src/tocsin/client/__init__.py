"""A client for any dialect: publish, subscribe, pull, consume."""

from tocsin.client.answers import ClientError, Unreachable
from tocsin.client.client import Client
from tocsin.client.consumer import Consumer, Received
from tocsin.client.signatures import BadSignature
from tocsin.client.values import Ended, Lease, PullPoint, Registration, Status

__all__ = [
    "BadSignature",
    "Client",
    "ClientError",
    "Consumer",
    "Ended",
    "Lease",
    "PullPoint",
    "Received",
    "Registration",
    "Status",
    "Unreachable",
]
