"""How well a hidden INO is learned from the history that it leaves, against noise: precision and recall."""

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec import Struct

from tocsin.lab.experiment import Columns, Figure, Findings, Outcome, Progress, UnknownChoice, experiment
from tocsin.lab.workloads.hidden_ino import CATEGORIES, TOPICS, HiddenIno, hidden_ino
from tocsin.platform.java import spark_problem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOISE = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
COLUMNS: Columns = {
    "noise %": lambda each: round(100 * each.noise), "seed": "seed", "publications": "publications",
    "tellings": "tellings", "edges": "edges", "proposed": "proposed", "right": "right", "precision": "precision",
    "recall": "recall",
}  # fmt: skip


class Choices(Struct, frozen=True):
    """`worlds` are how many hidden INOs are learned at each level of noise; `noise` asks for one level alone."""

    categories: int = CATEGORIES
    topics: int = TOPICS
    worlds: int = 3
    noise: float | None = None


class Recovery(Struct, frozen=True):
    noise: float
    seed: int
    publications: int
    tellings: int
    edges: int
    proposed: int
    right: int

    @property
    def precision(self) -> float:
        return self.right / self.proposed if self.proposed else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.edges


@experiment("learn", "a hidden INO learned on Spark: precision and recall against noise", choices=Choices)
def learn(seed: int, progress: Progress, choices: Choices) -> Outcome:
    if (problem := spark_problem(os.environ)) is not None:
        raise UnknownChoice(problem)
    from tocsin.pipeline.session import session

    found: list[Recovery] = []
    with TemporaryDirectory() as place, session(Path(place, "spark.log"), Path(place, "scratch")) as spark:
        for noise in NOISE if choices.noise is None else (choices.noise,):
            for each in range(seed, seed + choices.worlds):
                progress(f"{noise:.0%} noise, world {each}")
                made = hidden_ino(each, noise, categories=choices.categories, topics=choices.topics)
                found.append(learned(spark, made, noise, each))
    table = Findings.of("A hidden INO, learned from its history", found, COLUMNS, _note(found))
    return Outcome((table,), (Figure("noise", lambda path: draw(path, found)),))


def learned(spark: "SparkSession", made: HiddenIno, noise: float, seed: int) -> Recovery:
    """An edge is right if it is one of the hidden ones, name for name."""
    from tocsin.pipeline.learn import Told, learn_on

    publications = [(each.id, each.producer, each.topic) for each in made.history]
    tellings = [(each.id, each.producer, each.topic, name) for each in made.history for name in each.told]
    words = "notification string, producer string, topic string"
    told = Told(
        spark.createDataFrame(publications, words), spark.createDataFrame(tellings, f"{words}, consumer string")
    )
    proposals = learn_on(spark, made.world, told).proposals
    right = sum(each.key in made.edges for each in proposals)
    return Recovery(noise, seed, len(publications), len(tellings), len(made.edges), len(proposals), right)


def _note(found: Sequence[Recovery]) -> str:
    low, high = min(found, key=lambda each: each.precision), min(found, key=lambda each: each.recall)
    return (
        f"At the least, precision is {low.precision:.3f} (at {low.noise:.0%} noise)"
        f" and recall {high.recall:.3f} (at {high.noise:.0%})."
    )


def draw(path: Path, found: Sequence[Recovery]) -> None:
    """Each world a dot, the mean a line."""
    from matplotlib import figure as drawing

    figure = drawing.Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    levels = sorted({each.noise for each in found})
    for name, colour in (("precision", "#1f5582"), ("recall", "#d98324")):
        values = [[getattr(each, name) for each in found if each.noise == level] for level in levels]
        axes.plot(
            [100 * level for level in levels], [sum(each) / len(each) for each in values], color=colour, label=name
        )
        axes.scatter([100 * each.noise for each in found], [getattr(each, name) for each in found], 10, colour)
    axes.axhline(0.95, color="#8a8a8a", linewidth=0.8, linestyle="--", label="0.95")
    axes.set(xlabel="noise in %", ylabel="share", ylim=(0, 1.02))
    axes.set_title("A hidden INO, learned from its history", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
    figure.savefig(path, dpi=120)
