"""The command. A verb parses, calls the library and prints; heavy rooms are imported inside the verb.

Exit codes: 0 done; 1 a bug, with its traceback; 2 something the user can put right, said in one line on standard error;
130 interrupted by Ctrl-C with nothing written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from rsrae import __version__
from rsrae.cli import datasets, detecting, inspecting, reproducing
from rsrae.cli.console import one_line
from rsrae.errors import RsraeError

INTERRUPTED = 130

app = typer.Typer(
    name="rsrae",
    help="Find what is strange in a table, a folder of pictures or a pile of documents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
detecting.add_to(app)
inspecting.add_to(app)
app.add_typer(datasets.app, name="data")
app.add_typer(reproducing.app, name="paper")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rsrae {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    """Find what is strange in a table, a folder of pictures or a pile of documents.

    No labels are needed, and the data may be dirty: up to half of it may not belong.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command with these arguments (default: those of the process) and exit."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    try:
        code = app(list(arguments), prog_name="rsrae", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # some releases of typer turn Ctrl-C into this code without a word
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except RsraeError as error:
        return _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted; nothing was written")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone (rsrae ... | head): nothing more to say, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        # Wrong arguments. The class has moved between releases of typer; what it offers has not.
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        where = context.command_path if context is not None else "rsrae"
        message = error.format_message()
        return _fail(f"{message} See '{where} --help'.") if message else 2


def _fail(message: str) -> int:
    print(f"rsrae: {one_line(message)}", file=sys.stderr)
    return 2
