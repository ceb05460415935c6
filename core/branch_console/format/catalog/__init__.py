"""The files of catalog branches: versions, checkpoints, tags and databases; Paimon has none."""
