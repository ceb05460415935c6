"""The request that builds the demo."""

from dataclasses import dataclass

from branch_console.operations.argument import Unserved, argument
from branch_console.operations.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildDemoRequest(
    Request,
    procedure="build_demo",
    job=("Build the demo", "with"),
    sql=Unserved(why="It makes the warehouse that statements run in."),
    command=Unserved(why="demo asks for it."),
):
    """Build the warehouse of the demo."""

    data: str = argument("The folder of the data that it is built from.")
