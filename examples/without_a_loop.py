"""The blocking twin: the same calls without asyncio.

python examples/without_a_loop.py [http://127.0.0.1:8080]
"""

import queue
import sys

from tocsin import Notification
from tocsin.blocking import Client

BROKER = sys.argv[1] if sys.argv[1:] else "http://127.0.0.1:8080"

heard: queue.Queue[Notification] = queue.Queue()
with Client(BROKER, "wse-2004-08") as client, client.listening(heard.put, topic="blocking//."):
    client.publish(b"<alert>Passau</alert>", topic="blocking/severe")
    found = heard.get(timeout=30)
    print(f"{found.topic}: {found.payload.data.decode()}")
