from tests.whole.conftest import broker, http, sink, start

__all__ = ["broker", "http", "sink", "start"]
