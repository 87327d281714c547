"""`/api/cloudevents/subscriptions`: the CloudEvents Subscriptions API s3.2.5, over HTTP as its OpenAPI has it."""

import uuid
from typing import Any

import msgspec
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from tocsin.documents import cloudevents_subscriptions as ce_documents
from tocsin.documents.cloudevents_subscriptions import Asked, Credential
from tocsin.documents.ports.port import Broker
from tocsin.matching.resolution import as_said
from tocsin.mediation.ce import filters as ce_filters
from tocsin.mediation.graph_forms import SYNTAXES
from tocsin.mediation.operations import Subscribe
from tocsin.model.access import Secret, sink_secret
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription

PATH = "/api/cloudevents/subscriptions"
MOST_LISTED = 1000
_FEATURES = {
    "protocols": [ce_documents.PROTOCOL],
    "filters": list(ce_filters.DIALECTS),
    "sinkcredentials": ["PLAIN", "ACCESSTOKEN"],
    "config": {
        "mode": list(ce_documents.MODES),
        "expires": "a time or a duration",
        "together": "2 to 1000",
        "graph": list(SYNTAXES),
        "bindings": ["true", "false"],
    },
}


class CeSubscriptionHandlers:
    _broker: Broker

    async def ce_subscriptions(self, request: Request) -> Response:
        """All of them, in pages of a thousand: the header Link says where the next is."""
        page = self._broker.subscriptions(request.query_params.get("after", ""), MOST_LISTED)
        following = f'<{self._broker.base_url}{PATH}?after={page[-1].id}>; rel="next"' if page else ""
        headers = {"Link": following} if len(page) == MOST_LISTED else None
        return _json([self._ce_told(each) for each in page if ce_documents.is_shown(each)], 200, headers)

    async def ce_subscribe(self, request: Request) -> Response:
        asked = await self._ce_asked(request)
        credential = asked.credential if isinstance(asked.credential, Credential) else None
        made = await self._ce_with_secret(asked.subscribe, credential, self._broker.subscribe)
        return _json(self._ce_told(made), 201, {"Location": f"{self._broker.base_url}{PATH}/{made.id}"})

    async def ce_subscription(self, request: Request) -> Response:
        return _json(self._ce_told(self._ce_found(request)))

    async def ce_replace(self, request: Request) -> Response:
        """A credential that is not mentioned stays, as long as the sink does: it cannot be read to be sent again."""
        asked, old = await self._ce_asked(request, standing=True), self._ce_found(request)
        if asked.id not in ("", old.id):
            raise Refusal("malformed", f"the id {asked.id[:80]!r} is not that of the subscription {old.id}")
        subscribe, credential = asked.subscribe, asked.credential
        assert subscribe.consumer is not None and old.consumer is not None
        if credential is UNSET and subscribe.consumer.address == ce_documents.sink(old.consumer, self._broker.base_url):
            subscribe = _secretly(subscribe, old.consumer.secret)
        new = credential if isinstance(credential, Credential) else None
        replaced = await self._ce_with_secret(subscribe, new, lambda request: self._broker.replace(old.id, request))
        return _json(self._ce_told(replaced))

    async def ce_unsubscribe(self, request: Request) -> Response:
        old = self._ce_found(request)
        told = self._ce_told(old)
        await self._broker.unsubscribe(old.id)
        return _json(told)

    async def ce_features(self, request: Request) -> Response:
        one = "id" in request.path_params
        allowed = "GET, PUT, DELETE, OPTIONS" if one else "GET, POST, OPTIONS"
        return _json(_FEATURES, 200, {"Allow": allowed})

    async def _ce_asked(self, request: Request, *, standing: bool = False) -> Asked:
        return ce_documents.read(await self._read(request, dict[str, Any]), self._broker.now(), standing=standing)

    def _ce_found(self, request: Request) -> Subscription:
        found = self._broker.subscription(request.path_params["id"])
        if not ce_documents.is_shown(found):
            text = f"the subscription {found.id!r} speaks {found.form.dialect}; see /api/subscriptions/{found.id}"
            raise Refusal("unknown-subscription", text)
        return found

    def _ce_told(self, subscription: Subscription) -> dict[str, Any]:
        secrets = {each.name: each for each in self._broker.secrets()}
        return ce_documents.write(as_said(subscription, self._broker.known), secrets, self._broker.base_url)

    async def _ce_with_secret(self, request: Subscribe, credential: Credential | None, do: Any) -> Subscription:
        """What came with a subscription that was refused is not kept; what came with one that ends goes with it."""
        if credential is None:
            return await do(request)  # type: ignore[no-any-return]
        assert request.consumer is not None
        name, address = sink_secret(uuid.uuid4().hex), request.consumer.address.partition("?")[0]
        secret = Secret(name, credential.kind, credential.value, self._broker.now(), address=address)
        await self._broker.add_secret(secret, replace=False)
        try:
            return await do(_secretly(request, name))  # type: ignore[no-any-return]
        except BaseException:
            await self._broker.remove_secret(name)
            raise

    async def _read(self, request: Request, kind: Any) -> Any:
        raise NotImplementedError


def _secretly(request: Subscribe, secret: str | None) -> Subscribe:
    assert request.consumer is not None
    return msgspec.structs.replace(request, consumer=msgspec.structs.replace(request.consumer, secret=secret))


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, "application/json")
