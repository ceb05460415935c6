"""The entry point of the command line."""

import sys


def main() -> None:
    """Run the command of this process's arguments and end with its exit code."""
    from branch_console_app.cli.commands import run  # noqa: PLC0415

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
