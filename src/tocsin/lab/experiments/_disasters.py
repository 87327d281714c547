"""Ten disasters of our own for the experiment of paper 000 s6, whose own ten are not told.

Each has double notifications, loops or both, and falls into the class that Fig. 17 gives its number.
"""

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from tocsin.semantics.interest import world_json
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World


def _forest(text: str) -> dict[str, str | None]:
    """Lines of `parent: child, ...`; those below nothing are roots."""
    lines = (line.split(":") for line in text.strip().splitlines())
    return {name: parent.strip() or None for parent, children in lines for name in _names(children)}


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


TOPICS = _forest("""
: Disaster
Disaster: Flood, Storm, Earthquake, Tsunami, Landslide, Wildfire, Volcano, Accident, Epidemic
Flood: Dam Release
Storm: Hurricane
Hurricane: Storm Surge
Earthquake: Aftershock
Wildfire: Evacuation
Volcano: Ash Cloud
Accident: Chemical Spill, Radiation
""")
CATEGORIES = _forest("""
: Observers, Authorities, Responders, Health, Infrastructure, Airlines, Shelters, News
Observers: Hydrology, Meteorology, Seismology, Volcanology, Lookouts, Laboratories
Authorities: National Authorities, Local Authorities, Regulators, Ash Advisories
Responders: Control Centres, Fire Brigades, Aerial Firefighting, Coast Guards
Fire Brigades: Company Brigades
Health: Hospitals, Medical Depots
Infrastructure: Dams, Industry, Railways, Airports, Ports
Industry: Power Plants
""")
# A scenario a paragraph: its number, its name, its class, its topic and who publishes; then `service: category, ...`;
# then `category -> category, ...`, on the scenario's topic unless another stands after a colon.
_SCENARIOS = """
1 | Flash flood in a valley | CIN = HIN < DIN | Flood | River Gauges
River Gauges: Hydrology
Flood Forecast: Hydrology
State Civil Protection: National Authorities
Town of Ahrbach: Local Authorities
Upper Dam: Dams
Lower Dam: Dams
Hydrology -> Hydrology, Authorities, Dams
Dams -> Authorities: Dam Release
Authorities -> Hydrology

2 | Hurricane before landfall | CIN < HIN < DIN | Hurricane | Hurricane Centre
Hurricane Centre: Meteorology
Federal Emergency Agency: National Authorities
Coast Guard District 7: Coast Guards
Port of Tampico: Ports
Port of Veracruz: Ports, Shelters
Harbour School: Shelters
Meteorology -> National Authorities, Coast Guards
National Authorities -> Coast Guards, Ports
Coast Guards -> Ports: Storm Surge
Ports -> Shelters
Shelters -> National Authorities, Coast Guards

3 | Earthquake in a city | CIN < DIN < HIN | Earthquake | Seismic Network
Seismic Network: Seismology
Interior Ministry: National Authorities
Health Ministry: National Authorities
City Mayor: Local Authorities
Ambulance Control: Control Centres
North Hospital: Hospitals
South Hospital: Hospitals
Children's Hospital: Hospitals
University Clinic: Hospitals, Laboratories
Seismology -> Authorities
National Authorities -> Control Centres
Local Authorities -> Control Centres
Control Centres -> Health: Aftershock
Laboratories -> Seismology

4 | Chemical spill at a plant | CIN = HIN < DIN | Chemical Spill | Soda Works
Soda Works: Industry, Company Brigades
Fire Control Room: Control Centres
Acid Works: Company Brigades
Paint Works: Company Brigades
Town Fire Brigade: Fire Brigades
Industry -> Control Centres
Control Centres -> Fire Brigades
Fire Brigades -> Control Centres
Company Brigades -> Industry

5 | Landslide over a railway | CIN < HIN = DIN | Landslide | Slope Sensors
Slope Sensors: Seismology
Mountain Railway: Railways
Valley Council: Local Authorities
Rescue Control: Control Centres
Mountain Rescue: Fire Brigades
Seismology -> Railways, Local Authorities
Railways -> Control Centres
Local Authorities -> Control Centres
Control Centres -> Fire Brigades
Fire Brigades -> Seismology

6 | Wildfire near a suburb | CIN = HIN < DIN | Wildfire | Ridge Lookout
Ridge Lookout: Lookouts
Forest Dispatch: Control Centres
Ground Crew East: Fire Brigades
Ground Crew West: Fire Brigades
Water Bombers: Aerial Firefighting
Helicopter Wing: Aerial Firefighting, Lookouts
Lookouts -> Control Centres
Control Centres -> Fire Brigades, Aerial Firefighting
Fire Brigades -> Aerial Firefighting: Evacuation
Aerial Firefighting -> Control Centres

7 | Epidemic in a district | CIN < HIN < DIN | Epidemic | Reference Laboratory
Reference Laboratory: Laboratories
Health Institute: National Authorities
District Office: Local Authorities
District Hospital: Hospitals, Laboratories
Mission Hospital: Hospitals
Vaccine Depot: Medical Depots
Laboratories -> National Authorities, Local Authorities
National Authorities -> Local Authorities, Health
Local Authorities -> Health
Hospitals -> Medical Depots, Authorities
Medical Depots -> Hospitals

8 | Release at a power plant | CIN < HIN < DIN | Radiation | Block 2
Block 2: Power Plants
Block 1: Power Plants
Nuclear Regulator: Regulators
Crisis Cabinet: National Authorities
Weather Service: Meteorology
Water Works: Industry
State Radio: News
Evening Post: News
Power Plants -> Power Plants, Regulators, Meteorology
Regulators -> National Authorities, Meteorology, Industry
Meteorology -> National Authorities
National Authorities -> News, Regulators
News -> Industry, News

9 | Ash cloud over the flyways | CIN = HIN < DIN | Volcano | Etna Observatory
Etna Observatory: Volcanology
Stromboli Observatory: Volcanology
Vulcano Observatory: Volcanology
Ash Advisory Centre: Ash Advisories
Catania Airport: Airports
Palermo Airport: Airports
Island Air: Airlines, Airports
Strait Air: Airlines
Volcanology -> Volcanology, Ash Advisories
Ash Advisories -> Airports, Airlines: Ash Cloud
Airlines -> Airports
Airports -> Airlines, Ash Advisories

10 | Tsunami across an ocean | CIN < DIN < HIN | Tsunami | Ocean Buoys
Ocean Buoys: Seismology
Pacific Centre: Regulators
Island Centre: Regulators
Coast Guard North: Coast Guards
Coast Guard South: Coast Guards
Port of Hilo: Ports
Port of Apia: Ports
Beach Patrol: Shelters
Temple Hill: Shelters
Coast Radio: News
Seismology -> Regulators
Regulators -> Coast Guards
Coast Guards -> Ports
Ports -> Shelters, News
News -> Seismology
"""


class Scenario(Struct, frozen=True):
    number: int
    name: str
    falls: str
    topic: str
    root: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.number} {self.name}"

    @property
    def services(self) -> Iterator[Service]:
        for line in self.lines:
            if "->" not in line:
                name, _, categories = line.partition(":")
                yield Service(name.strip(), _names(categories))

    @property
    def edges(self) -> Iterator[Edge]:
        for line in self.lines:
            if "->" in line:
                source, _, rest = line.partition("->")
                targets, _, topic = rest.partition(":")
                for target in _names(targets):
                    yield Edge(source.strip(), topic.strip() or self.topic, target)


def _scenario(paragraph: str) -> Scenario:
    head, *lines = paragraph.strip().splitlines()
    number, name, falls, topic, root = head.split(" | ")
    return Scenario(int(number), name, falls, topic, root, tuple(lines))


SCENARIOS = tuple(map(_scenario, _SCENARIOS.split("\n\n")))


def world_of(scenario: Scenario) -> World:
    return world_json.read(msgspec.json.encode(document(scenario))).world()


def document(scenario: Scenario) -> dict[str, object]:
    """As `tocsin implicit run` reads it."""
    return {
        "topics": TOPICS,
        "categories": CATEGORIES,
        "edges": [list(edge.key) for edge in scenario.edges],
        "services": {each.name: list(each.categories) for each in scenario.services},
        "publish": {"root": scenario.root, "topic": scenario.topic, "data": str(scenario)},
    }
