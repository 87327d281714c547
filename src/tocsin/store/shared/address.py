"""Where a shared log is, and what its topics are called."""

from urllib.parse import parse_qsl, urlencode, urlsplit

from msgspec import Struct

from tocsin.model.identity import Pairs

SCHEME = "kafka"


class SharedLog(Struct, frozen=True):
    """`kafka://host:9092,other:9092/prefix?security.protocol=SSL`: options are librdkafka's own, by their names."""

    brokers: str
    prefix: str
    options: Pairs = ()

    @classmethod
    def parse(cls, url: str) -> "SharedLog":
        parts = urlsplit(url)
        prefix = parts.path.strip("/")
        if parts.scheme != SCHEME or not parts.netloc or not prefix or "/" in prefix:
            raise ValueError(f"{url!r} is no shared log: write kafka://host:9092/name")
        return cls(parts.netloc, prefix, tuple(parse_qsl(parts.query)))

    @property
    def url(self) -> str:
        options = f"?{urlencode(self.options)}" if self.options else ""
        return f"{SCHEME}://{self.brokers}/{self.prefix}{options}"

    @property
    def shown(self) -> str:
        """Without its options, which may hold secrets."""
        return f"{SCHEME}://{self.brokers}/{self.prefix}"

    @property
    def changes(self) -> str:
        """Subscriptions and declarations, in one order: one partition."""
        return f"{self.prefix}.changes"

    @property
    def notifications(self) -> str:
        return f"{self.prefix}.notifications"

    @property
    def outcomes(self) -> str:
        return f"{self.prefix}.outcomes"

    @property
    def outbox(self) -> str:
        """What Spark decided to send, by subscription."""
        return f"{self.prefix}.outbox"
