"""The console and the command line: asking and showing, nothing else."""
