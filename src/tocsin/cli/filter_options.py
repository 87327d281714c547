"""What a subscriber can ask for besides a topic, as options."""

from typing import Annotated

import typer

Content = Annotated[
    str, typer.Option(metavar="EXPRESSION", help="What must hold of the content, e.g. '/alert/level > 3'.")
]
ContentLanguage = Annotated[
    str,
    typer.Option(
        help="xpath, items or jsonpath of the payload, cesql of attributes, xpath-envelope, xpath-producer, sparql."
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="NAME", help="A type or a subtype of it: p:Alert, {urn:x}Alert, com.example.alert."),
]
Producers = Annotated[
    list[str] | None,
    typer.Option("--producer", metavar="ADDRESS", help="Who must have sent it: an address, or category:NAME."),
]
Box = Annotated[
    str, typer.Option(metavar="SPACE:SIDES", help="A region of an information space, e.g. 'weather:*,NJ/>25/<50'.")
]
