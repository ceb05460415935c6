"""The help of the commands whose words and options their requests declare, kept in a file."""

import typer

from branch_console.operations.declared import REQUESTS
from branch_console_app.cli.commands import program
from tests.support.golden import Golden


def test_the_help_of_every_command_with_a_request(golden: Golden) -> None:
    group = typer.main.get_command(program)
    assert isinstance(group, typer.core.TyperGroup)
    top = group.make_context("branch-console", ["--help"], resilient_parsing=True)
    texts = []
    for name in sorted(
        str(each.command) for each in REQUESTS.values() if isinstance(each.command, str)
    ):
        command: typer.core.TyperCommand | typer.core.TyperGroup = group
        for word in name.split():
            assert isinstance(command, typer.core.TyperGroup)
            command = command.commands[word]
        with command.make_context(
            name, [], parent=top, resilient_parsing=True, terminal_width=80, max_content_width=80
        ) as context:
            texts.append(command.get_help(context))
    golden.check("help.txt", "\n\n".join(texts) + "\n")
