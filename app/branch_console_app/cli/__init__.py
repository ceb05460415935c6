"""The command line: the verbs of the console, as commands with `--json`."""
