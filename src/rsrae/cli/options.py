"""The options that several verbs share, and how their texts become values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rsrae.detectors import METHODS  # names only: imports no detector
from rsrae.errors import ParameterError

KINDS = ("table", "images", "documents", "embeddings")
EXAMPLES = ("digits", "swiss-roll", "wine")
RECIPES = ("default", "paper", "authors")

_DATA, _MODEL, _OUTPUT = "What is read", "How it is judged", "What is written"


def _completes(values: tuple[str, ...]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete


Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE", help="A file, a folder, or - for CSV or JSON Lines on standard input.", show_default=False
    ),
]
Example = Annotated[
    str | None,
    typer.Option(
        help="Built-in data in place of SOURCE: digits, swiss-roll or wine.",
        autocompletion=_completes(EXAMPLES),
        rich_help_panel=_DATA,
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        help="What SOURCE holds, if the guess is wrong: table, images, documents or embeddings.",
        autocompletion=_completes(KINDS),
        rich_help_panel=_DATA,
    ),
]
Text = Annotated[str | None, typer.Option(help="The column with the text of each document.", rich_help_panel=_DATA)]
Id = Annotated[str | None, typer.Option("--id", help="The column that names the items.", rich_help_panel=_DATA)]
Drop = Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.", rich_help_panel=_DATA)]
Label = Annotated[
    str | None,
    typer.Option(
        help="The column (in a folder: the sub-folder) with known anomalies; measured against, never learned from.",
        rich_help_panel=_DATA,
    ),
]
Size = Annotated[
    str | None,
    typer.Option(
        help="Resize pictures to this side, or HEIGHTxWIDTH, in pixels.", metavar="PIXELS", rich_help_panel=_DATA
    ),
]
Names = Annotated[
    Path | None, typer.Option(help="A text file with one name an item, for arrays.", rich_help_panel=_DATA)
]
StripHeaders = Annotated[
    bool, typer.Option("--strip-headers", help="Cut mail and newsgroup headers off documents.", rich_help_panel=_DATA)
]
StopWords = Annotated[
    str | None,
    typer.Option(
        help="Words of documents that do not count: english, or a text file with one a line.",
        metavar="english|FILE",
        rich_help_panel=_DATA,
    ),
]
Limit = Annotated[int | None, typer.Option(help="Read only that many items.", rich_help_panel=_DATA)]

MethodName = Annotated[
    str,
    typer.Option(
        help="The method; 'rsrae methods' lists them.",
        autocompletion=_completes(METHODS),
        rich_help_panel=_MODEL,
    ),
]
Recipe = Annotated[
    str | None,
    typer.Option(
        help="Settings of method rsrae: default, paper or authors.",
        autocompletion=_completes(RECIPES),
        rich_help_panel=_MODEL,
    ),
]
Contamination = Annotated[
    str,
    typer.Option(help="The share of anomalies, up to 0.5; auto finds it from the scores.", rich_help_panel=_MODEL),
]
Epochs = Annotated[int | None, typer.Option(help="How often training goes over the data.", rich_help_panel=_MODEL)]
Dim = Annotated[
    int | None, typer.Option(help="The dimension of the structure that normal items share.", rich_help_panel=_MODEL)
]
Seed = Annotated[int | None, typer.Option(help="Of all that is random; 0 unless given.", rich_help_panel=_MODEL)]
Device = Annotated[str | None, typer.Option(help="Where to train: cpu, cuda, ...", rich_help_panel=_MODEL)]
Threads = Annotated[int | None, typer.Option(help="How many processor threads to use.", rich_help_panel=_MODEL)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Any other setting of the method by its name in Python, such as rules=1; may be repeated.",
        metavar="NAME=VALUE",
        rich_help_panel=_MODEL,
    ),
]

ModelFile = Annotated[Path, typer.Option("--model", "-m", help="The model file.", show_default=False)]
Force = Annotated[bool, typer.Option("--force", help="Replace an earlier result.", rich_help_panel=_OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=_OUTPUT)]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document in place of text.", rich_help_panel=_OUTPUT)
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Print every note, everything skipped and all settings.", rich_help_panel=_OUTPUT
    ),
]
OutFolder = Annotated[
    Path | None,
    typer.Option(help="The folder to make; default: SOURCE's name with -anomalies.", rich_help_panel=_OUTPUT),
]


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """Values by name, as JSON or as Python writes its switches; a word needs no quotes, and a list becomes a tuple.

    >>> parse_settings(["rules=1", "trim=auto", "intrinsic_dim=[2, 4]", "ranks=false", "tame=True"])
    {'rules': 1, 'trim': 'auto', 'intrinsic_dim': (2, 4), 'ranks': False, 'tame': True}
    """
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise ParameterError(f"--set must be NAME=VALUE such as rules=1, not {text!r}")
        if name in settings:
            raise ParameterError(f"--set gives {name} twice; leave one of them out")
        try:
            settings[name] = json.loads(value)
        except (ValueError, RecursionError):  # no JSON, or lists in lists without end
            settings[name] = {"True": True, "False": False, "None": None}.get(value, value)
        if isinstance(settings[name], list):
            settings[name] = tuple(settings[name])
    return settings


def parse_contamination(text: str) -> float | str:
    """A share, or "auto".

    >>> parse_contamination("0.1"), parse_contamination("auto")
    (0.1, 'auto')
    """
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"--contamination must be 'auto' or a number in (0, 0.5], not {text!r}") from None


def parse_size(text: str | None) -> int | tuple[int, int] | None:
    """A side, or a height and a width.

    >>> parse_size("28"), parse_size("20x30"), parse_size(None)
    (28, (20, 30), None)
    """
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,6})(?:x(\d{1,6}))?", text, re.ASCII)
    if not found:
        raise ParameterError(
            f"--size must be a number of pixels such as 28, or HEIGHTxWIDTH such as 20x30, not {text!r}"
        )
    height, width = found.groups()
    return int(height) if width is None else (int(height), int(width))
