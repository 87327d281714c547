"""A resource of the API is a file of handlers. A handler's signature is its route, the reading of its parameters and
body, and its entry in the OpenAPI description.

`node`, `caller` and the request come by their types, parts of the path by their names, the rest by what its annotation
says (see `parameters`); a struct is the JSON body. What is returned is the answer: a struct or a page as JSON, None as
204. Every handler takes the caller, for the services it asks to hold it to its rights; unless everybody may ask
(`public`).
"""

import asyncio
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from types import UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tocsin.broker.caller import NODE, Caller
from tocsin.broker.node import Node
from tocsin.broker.ring.messages import Forwarded
from tocsin.doors.api.gathering import MISSING, Answers, Merge, everywhere, ring_asked
from tocsin.doors.api.parameters import Body, Header, Parameter, Path, Query, Schema, exact_tail
from tocsin.doors.gate import Gate
from tocsin.mediation.faults import problem
from tocsin.mediation.operations import Reply
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import only, read_body

Document = TypeVar("Document")
Handler = TypeVar("Handler", bound=Callable[..., Any])
PART = re.compile(r"{(\w+)(?::path)?}")
JSON = "application/json"


class Call(Struct, frozen=True):
    request: Request
    node: Node
    caller: Caller


Read = Callable[[Call], Any]  # or what becomes it when it is awaited


class Answer(Struct, Generic[Document], frozen=True):
    """A document with headers of its own, or with another status than its operation has."""

    document: Document
    headers: Mapping[str, str] = {}
    status: int | None = None


class Large(Struct, Generic[Document], frozen=True):
    """An answer that may be large: made and written in a thread."""

    make: Callable[[], Document]


class Group(Struct, frozen=True):
    """What several handlers take together: its fields are read as parameters are, and described before the next."""

    node: Node
    caller: Caller


class Signature(Struct, frozen=True):
    """How a handler comes to each of its arguments, and what of that and of its answer is described."""

    reads: Mapping[str, Read]
    parameters: Mapping[str, Parameter]
    body: Any
    answer: Any


class Operation(Struct, frozen=True):
    """One method of one path. Without a handler another door serves it."""

    method: str
    path: str
    handler: Callable[..., Any] | None
    signature: Signature
    says: str
    status: int
    returns: Mapping[str, Schema] = {}
    public: bool = False
    hidden: bool = False
    head: bool = True
    merge: Merge | None = None

    async def respond(self, call: Call) -> Response:
        assert self.handler is not None
        found = await _awaited(self.handler(**await _arguments(self.signature.reads, call)))
        if isinstance(found, Large):
            return await asyncio.to_thread(lambda: self.response(found.make()))
        return self.response(found)

    def response(self, found: object) -> Response:
        if isinstance(found, Response):
            return found
        answer = found if isinstance(found, Answer) else Answer(found)
        status, headers = answer.status or self.status, dict(answer.headers)
        if answer.document is None:
            return Response(status_code=status, headers=headers)
        return Response(msgspec.json.encode(answer.document), status, headers, JSON)


class Resource:
    """`path` begins the paths of its operations; `kinds` are documents that no operation names but users see.

    It is served and described because it stands in a module of this package.
    """

    def __init__(self, path: str, *, kinds: Sequence[type] = ()) -> None:
        self._path, self.kinds = path, tuple(kinds)
        self.operations: list[Operation] = []

    def get(self, path: str = "", **told: Any) -> Callable[[Handler], Handler]:
        return self._operation("GET", path, **told)

    def post(self, path: str = "", **told: Any) -> Callable[[Handler], Handler]:
        return self._operation("POST", path, **told)

    def put(self, path: str = "", **told: Any) -> Callable[[Handler], Handler]:
        return self._operation("PUT", path, **told)

    def patch(self, path: str = "", **told: Any) -> Callable[[Handler], Handler]:
        return self._operation("PATCH", path, **told)

    def delete(self, path: str = "", **told: Any) -> Callable[[Handler], Handler]:
        return self._operation("DELETE", path, **told)

    def options(self, path: str = "", **told: Any) -> Callable[[Handler], Handler]:
        return self._operation("OPTIONS", path, **told)

    def describe(
        self,
        method: str,
        path: str = "",
        *,
        says: str,
        status: int = 200,
        parameters: Mapping[str, Parameter] | None = None,
        body: Body | None = None,
        answer: type | None = None,
        public: bool = False,
    ) -> None:
        """What another door serves there."""
        whole = self._path + path
        taken: dict[str, Parameter] = {part: Path() for part in PART.findall(whole)}
        signature = Signature({}, taken | dict(parameters or {}), body, answer)
        self.operations.append(Operation(method, whole, None, signature, says, status, public=public))

    def _operation(
        self,
        method: str,
        path: str,
        *,
        says: str,
        status: int | None = None,
        returns: Mapping[str, Schema] | None = None,
        public: bool = False,
        hidden: bool = False,
        head: bool = True,
        merge: Merge | None = None,
    ) -> Callable[[Handler], Handler]:
        """`returns` are media types beside JSON; `head=False` where a look is not to be taken for the call itself.

        In a ring `merge` makes one answer of those that all nodes give for themselves; without it this node's stands.
        """

        def add(handler: Handler) -> Handler:
            whole = self._path + path
            signature = _signature(handler, whole, public)
            told = status or (204 if signature.answer is type(None) else 200)
            self.operations.append(
                Operation(method, whole, handler, signature, says, told, returns or {}, public, hidden, head, merge)
            )
            return handler

        return add


def _signature(handler: Callable[..., Any], path: str, public: bool) -> Signature:
    hints, parts = get_type_hints(handler, include_extras=True), set(PART.findall(path))
    if not public and not any(isinstance(each, type) and issubclass(each, Caller | Group) for each in hints.values()):
        raise TypeError(f"{handler.__qualname__} does not take the caller: nobody would be held to its rights")
    reads, parameters, body = dict[str, Read](), dict[str, Parameter](), None
    for name, parameter in inspect.signature(handler).parameters.items():
        kind, spec = _annotation(hints[name])
        if name in parts:
            parameters[name] = spec = spec if isinstance(spec, Path) else Path()
            reads[name] = _from_path(name, spec, path)
        elif kind in _GIVEN:
            reads[name] = _GIVEN[kind]
        elif isinstance(spec, Query | Header):
            shown = spec.name or name
            spec = replace(spec, required=spec.required or parameter.default is parameter.empty)
            parameters |= {shown: spec} if spec.says else {}
            reads[name] = _from_request(shown, spec, parameter.default)
        elif isinstance(kind, type) and issubclass(kind, Group):
            group = _signature(kind, path, public)
            parameters |= group.parameters
            reads[name] = _grouped(kind, group.reads)
        elif isinstance(spec, Body) or (isinstance(kind, type) and issubclass(kind, Struct)):
            body = spec or kind
            reads[name] = _from_body(kind)
        else:
            raise TypeError(f"{handler.__qualname__}: what is {name!r} to be read from?")
    return Signature(reads, parameters, body, _document(hints.get("return")))


def _document(answer: Any) -> Any:
    """What is described of it: of several the first."""
    if get_origin(answer) in (Answer, Large, Union, UnionType):
        return _document(get_args(answer)[0])
    return answer


def _annotation(hint: Any) -> tuple[Any, Parameter | Body | None]:
    if get_origin(hint) is not Annotated:
        return hint, None
    kind, *about = get_args(hint)
    return kind, next((each for each in about if isinstance(each, Query | Header | Path | Body)), None)


async def _arguments(reads: Mapping[str, Read], call: Call) -> dict[str, Any]:
    return {name: await _awaited(read(call)) for name, read in reads.items()}


async def _awaited(found: Any) -> Any:
    return await found if inspect.isawaitable(found) else found


def _from_path(name: str, spec: Path, path: str) -> Read:
    if spec.exact:
        below = path[: path.index("{")].rstrip("/")
        return lambda call: spec.read(name, exact_tail(call.request, below))
    return lambda call: spec.read(name, call.request.path_params[name])


def _from_request(name: str, spec: Query | Header, default: Any) -> Read:
    def read(call: Call) -> Any:
        if (found := spec.value(call.request, name, default)) is inspect.Parameter.empty:
            where = f"add ?{name}=…" if isinstance(spec, Query) else "send that header"
            raise Refusal("malformed", f"{name} is missing; {where}")
        return found

    return read


def _grouped(kind: type[Group], reads: Mapping[str, Read]) -> Read:
    async def read(call: Call) -> Group:
        return kind(**await _arguments(reads, call))

    return read


def _from_body(kind: Any) -> Read:
    async def read(call: Call) -> Any:
        body = await read_body(call.request.scope, call.request.receive, call.node.body_limit)
        return body if kind is bytes else from_json(body, kind)

    return read


def from_json(body: bytes, kind: type[Document]) -> Document:
    """An empty one as its defaults, where it has them."""
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refusal("malformed", str(error)) from None


_GIVEN: dict[Any, Read] = {
    Node: lambda call: call.node,
    Caller: lambda call: call.caller,
    Request: lambda call: call.request,
}


def resources() -> tuple[Resource, ...]:
    """All that the modules of this package have."""
    package = import_module(__name__.rpartition(".")[0])
    modules = [import_module(f"{package.__name__}.{each.name}") for each in pkgutil.iter_modules(package.__path__)]
    found = (value for module in modules for value in vars(module).values() if isinstance(value, Resource))
    return tuple(dict.fromkeys(found))


def routes(resources: Iterable[Resource]) -> list[Route]:
    """One for all methods of a path, so that who asks for another is told of all of them."""
    by_path: dict[str, dict[str, Operation]] = {}
    for resource in resources:
        for operation in resource.operations:
            if operation.handler is not None:
                by_path.setdefault(operation.path, {})[operation.method] = operation
    return [_route(path, operations) for path, operations in by_path.items()]


def _route(path: str, operations: Mapping[str, Operation]) -> Route:
    async def dispatch(request: Request) -> Response:
        gate: Gate = request.app.state.gate
        is_head = request.method == "HEAD"
        operation = operations["GET" if is_head else request.method]
        try:
            caller = NODE if operation.public else gate.caller(request.scope)
            if is_head and not operation.head:
                return response(only(*sorted(operations)))
            if operation.merge is not None and (ring := ring_asked(gate.node, request)) is not None:
                answers = await everywhere(ring, request, gate.node.body_limit)
                return _merged(operation, operation.merge, answers, request)
            return await operation.respond(Call(request, gate.node, caller))
        except Refusal as refusal:
            return response(problem(refusal))

    return Route(path, dispatch, methods=list(operations))


def _merged(operation: Operation, merge: Merge, answers: Answers, request: Request) -> Response:
    if answers.refusal is not None:
        return _as_answered(answers.refusal)
    found = merge(answers.shares(operation.signature.answer), request.query_params)
    answer = found if isinstance(found, Answer) else Answer(found)
    if answers.missing:
        answer = Answer(
            _without(answer.document, answers.missing), {**answer.headers, MISSING: ", ".join(answers.missing)}
        )
    return operation.response(answer)


def _without(document: Any, missing: Sequence[str]) -> Any:
    """It says whose answer is not in it, where it has a place for that."""
    if isinstance(document, dict):
        return {**document, "missing": [*missing]}
    return replace(document, missing=[*missing]) if hasattr(document, "missing") else document


def _as_answered(answer: Forwarded) -> Response:
    made = Response(answer.body, answer.status)
    for name, value in answer.headers:
        if name.lower() != b"content-length":
            made.headers.append(name.decode("latin-1"), value.decode("latin-1"))
    return made


def response(reply: Reply) -> Response:
    """A header may come twice: there is a challenge for each scheme."""
    made = Response(reply.body, reply.status)
    for name, value in reply.headers:
        made.headers.append(name, value)
    return made
