"""Ten disasters of our own for the experiment of paper 000 s6, whose own ten are not told.

Each has double notifications, loops or both, and falls into the class that Fig. 17 gives its number. A line of `edges`
is `category -> category, ...`, on the scenario's topic unless another stands after a colon; a line of `services` is
`service: category, ...`.
"""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from tocsin.semantics.interest import world_json
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World

HIN_AS_CIN, BETWEEN = "CIN = HIN < DIN", "CIN < HIN < DIN"
HIN_WORST, HIN_AS_DIN = "CIN < DIN < HIN", "CIN < HIN = DIN"

TOPICS: Mapping[str, str | None] = {
    "Disaster": None,
    "Flood": "Disaster",
    "Dam Release": "Flood",
    "Storm": "Disaster",
    "Hurricane": "Storm",
    "Storm Surge": "Hurricane",
    "Earthquake": "Disaster",
    "Aftershock": "Earthquake",
    "Tsunami": "Disaster",
    "Landslide": "Disaster",
    "Wildfire": "Disaster",
    "Evacuation": "Wildfire",
    "Volcano": "Disaster",
    "Ash Cloud": "Volcano",
    "Accident": "Disaster",
    "Chemical Spill": "Accident",
    "Radiation": "Accident",
    "Epidemic": "Disaster",
}

CATEGORIES: Mapping[str, str | None] = {
    "Observers": None,
    "Hydrology": "Observers",
    "Meteorology": "Observers",
    "Seismology": "Observers",
    "Volcanology": "Observers",
    "Lookouts": "Observers",
    "Laboratories": "Observers",
    "Authorities": None,
    "National Authorities": "Authorities",
    "Local Authorities": "Authorities",
    "Regulators": "Authorities",
    "Responders": None,
    "Control Centres": "Responders",
    "Fire Brigades": "Responders",
    "Company Brigades": "Fire Brigades",
    "Aerial Firefighting": "Responders",
    "Coast Guards": "Responders",
    "Health": None,
    "Hospitals": "Health",
    "Medical Depots": "Health",
    "Infrastructure": None,
    "Dams": "Infrastructure",
    "Industry": "Infrastructure",
    "Power Plants": "Industry",
    "Railways": "Infrastructure",
    "Airports": "Infrastructure",
    "Ports": "Infrastructure",
    "Ash Advisories": "Authorities",
    "Airlines": None,
    "Shelters": None,
    "News": None,
}


class Scenario(Struct, frozen=True):
    number: int
    name: str
    falls: str
    topic: str
    root: str
    services: str
    edges: str

    def __str__(self) -> str:
        return f"{self.number} {self.name}"


SCENARIOS = (
    Scenario(
        1,
        "Flash flood in a valley",
        HIN_AS_CIN,
        "Flood",
        "River Gauges",
        """River Gauges: Hydrology
        Flood Forecast: Hydrology
        State Civil Protection: National Authorities
        Town of Ahrbach: Local Authorities
        Upper Dam: Dams
        Lower Dam: Dams""",
        """Hydrology -> Hydrology, Authorities, Dams
        Dams -> Authorities: Dam Release
        Authorities -> Hydrology""",
    ),
    Scenario(
        2,
        "Hurricane before landfall",
        BETWEEN,
        "Hurricane",
        "Hurricane Centre",
        """Hurricane Centre: Meteorology
        Federal Emergency Agency: National Authorities
        Coast Guard District 7: Coast Guards
        Port of Tampico: Ports
        Port of Veracruz: Ports, Shelters
        Harbour School: Shelters""",
        """Meteorology -> National Authorities, Coast Guards
        National Authorities -> Coast Guards, Ports
        Coast Guards -> Ports: Storm Surge
        Ports -> Shelters
        Shelters -> National Authorities, Coast Guards""",
    ),
    Scenario(
        3,
        "Earthquake in a city",
        HIN_WORST,
        "Earthquake",
        "Seismic Network",
        """Seismic Network: Seismology
        Interior Ministry: National Authorities
        Health Ministry: National Authorities
        City Mayor: Local Authorities
        Ambulance Control: Control Centres
        North Hospital: Hospitals
        South Hospital: Hospitals
        Children's Hospital: Hospitals
        University Clinic: Hospitals, Laboratories""",
        """Seismology -> Authorities
        National Authorities -> Control Centres
        Local Authorities -> Control Centres
        Control Centres -> Health: Aftershock
        Laboratories -> Seismology""",
    ),
    Scenario(
        4,
        "Chemical spill at a plant",
        HIN_AS_CIN,
        "Chemical Spill",
        "Soda Works",
        """Soda Works: Industry, Company Brigades
        Fire Control Room: Control Centres
        Acid Works: Company Brigades
        Paint Works: Company Brigades
        Town Fire Brigade: Fire Brigades""",
        """Industry -> Control Centres
        Control Centres -> Fire Brigades
        Fire Brigades -> Control Centres
        Company Brigades -> Industry""",
    ),
    Scenario(
        5,
        "Landslide over a railway",
        HIN_AS_DIN,
        "Landslide",
        "Slope Sensors",
        """Slope Sensors: Seismology
        Mountain Railway: Railways
        Valley Council: Local Authorities
        Rescue Control: Control Centres
        Mountain Rescue: Fire Brigades""",
        """Seismology -> Railways, Local Authorities
        Railways -> Control Centres
        Local Authorities -> Control Centres
        Control Centres -> Fire Brigades
        Fire Brigades -> Seismology""",
    ),
    Scenario(
        6,
        "Wildfire near a suburb",
        HIN_AS_CIN,
        "Wildfire",
        "Ridge Lookout",
        """Ridge Lookout: Lookouts
        Forest Dispatch: Control Centres
        Ground Crew East: Fire Brigades
        Ground Crew West: Fire Brigades
        Water Bombers: Aerial Firefighting
        Helicopter Wing: Aerial Firefighting, Lookouts""",
        """Lookouts -> Control Centres
        Control Centres -> Fire Brigades, Aerial Firefighting
        Fire Brigades -> Aerial Firefighting: Evacuation
        Aerial Firefighting -> Control Centres""",
    ),
    Scenario(
        7,
        "Epidemic in a district",
        BETWEEN,
        "Epidemic",
        "Reference Laboratory",
        """Reference Laboratory: Laboratories
        Health Institute: National Authorities
        District Office: Local Authorities
        District Hospital: Hospitals, Laboratories
        Mission Hospital: Hospitals
        Vaccine Depot: Medical Depots""",
        """Laboratories -> National Authorities, Local Authorities
        National Authorities -> Local Authorities, Health
        Local Authorities -> Health
        Hospitals -> Medical Depots, Authorities
        Medical Depots -> Hospitals""",
    ),
    Scenario(
        8,
        "Release at a power plant",
        BETWEEN,
        "Radiation",
        "Block 2",
        """Block 2: Power Plants
        Block 1: Power Plants
        Nuclear Regulator: Regulators
        Crisis Cabinet: National Authorities
        Weather Service: Meteorology
        Water Works: Industry
        State Radio: News
        Evening Post: News""",
        """Power Plants -> Power Plants, Regulators, Meteorology
        Regulators -> National Authorities, Meteorology, Industry
        Meteorology -> National Authorities
        National Authorities -> News, Regulators
        News -> Industry, News""",
    ),
    Scenario(
        9,
        "Ash cloud over the flyways",
        HIN_AS_CIN,
        "Volcano",
        "Etna Observatory",
        """Etna Observatory: Volcanology
        Stromboli Observatory: Volcanology
        Vulcano Observatory: Volcanology
        Ash Advisory Centre: Ash Advisories
        Catania Airport: Airports
        Palermo Airport: Airports
        Island Air: Airlines, Airports
        Strait Air: Airlines""",
        """Volcanology -> Volcanology, Ash Advisories
        Ash Advisories -> Airports, Airlines: Ash Cloud
        Airlines -> Airports
        Airports -> Airlines, Ash Advisories""",
    ),
    Scenario(
        10,
        "Tsunami across an ocean",
        HIN_WORST,
        "Tsunami",
        "Ocean Buoys",
        """Ocean Buoys: Seismology
        Pacific Centre: Regulators
        Island Centre: Regulators
        Coast Guard North: Coast Guards
        Coast Guard South: Coast Guards
        Port of Hilo: Ports
        Port of Apia: Ports
        Beach Patrol: Shelters
        Temple Hill: Shelters
        Coast Radio: News""",
        """Seismology -> Regulators
        Regulators -> Coast Guards
        Coast Guards -> Ports
        Ports -> Shelters, News
        News -> Seismology""",
    ),
)


def world_of(scenario: Scenario) -> World:
    return world_json.read(msgspec.json.encode(document(scenario))).world()


def document(scenario: Scenario) -> dict[str, object]:
    """As `tocsin implicit run` reads it."""
    return {
        "topics": dict(TOPICS),
        "categories": dict(CATEGORIES),
        "edges": [list(edge.key) for edge in edges_of(scenario)],
        "services": {each.name: list(each.categories) for each in services_of(scenario)},
        "publish": {"root": scenario.root, "topic": scenario.topic, "data": str(scenario)},
    }


def services_of(scenario: Scenario) -> Iterator[Service]:
    for line in scenario.services.splitlines():
        name, _, categories = line.partition(":")
        yield Service(name.strip(), _names(categories))


def edges_of(scenario: Scenario) -> Iterator[Edge]:
    for line in scenario.edges.splitlines():
        source, _, rest = line.partition("->")
        targets, _, topic = rest.partition(":")
        for target in _names(targets):
            yield Edge(source.strip(), topic.strip() or scenario.topic, target)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))
