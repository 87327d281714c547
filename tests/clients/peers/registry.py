"""Who publishes and who receives in the matrix, by the names that the documentation has."""

from functools import partial

from tests.clients.peers import camera, events, own, sdc, wsn
from tests.clients.peers.peer import Publishing, Receiving

from tocsin.client.client import DIALECTS

PUBLISHERS: dict[str, Publishing] = {
    **{f"zeep, SOAP {soap}": partial(wsn.publishing, soap=soap) for soap in ("1.1", "1.2")},
    "sdc11073": sdc.publishing,
    **{f"cloudevents, {mode}": partial(events.publishing, mode=mode, kind=sdc.METRIC) for mode in events.MODES},
    **{f"tocsin, {each}": partial(own.publishing, dialect=each) for each in DIALECTS},
}
RECEIVERS: dict[str, Receiving] = {
    **{f"zeep, SOAP {soap}": partial(wsn.receiving, soap=soap) for soap in ("1.1", "1.2")},
    "onvif-zeep-async, pull point": camera.by_pull_point,
    "onvif-zeep-async, web hook": camera.by_web_hook,
    "sdc11073": sdc.receiving,
    **{f"cloudevents, {mode}": partial(events.receiving, mode=mode) for mode in events.MODES},
    **{f"tocsin, {each}": partial(own.receiving, dialect=each) for each in DIALECTS},
}
