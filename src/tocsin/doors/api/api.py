"""`/api`: JSON for programs and people, described by `/api/openapi.json`."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from tocsin.doors.api.router import resources, response, routes
from tocsin.doors.api.sockets import SOCKETS
from tocsin.doors.gate import Gate
from tocsin.mediation.faults import problem
from tocsin.model import paths
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import only


def api(gate: Gate) -> Starlette:
    application = Starlette(
        routes=[*routes(resources()), *SOCKETS],
        exception_handlers={404: _not_found, 405: _not_allowed},
    )
    application.state.gate = gate
    return application


async def _not_found(request: Request, error: Exception) -> Response:
    del error
    text = f"nothing is at {request.url.path}; {paths.OPENAPI} lists what is"
    return response(problem(Refusal("unknown-operation", text)))


async def _not_allowed(request: Request, error: Exception) -> Response:
    del request
    allowed = (getattr(error, "headers", None) or {}).get("Allow", "")
    return response(only(*sorted(each for each in allowed.split(", ") if each != "HEAD")))
