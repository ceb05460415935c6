"""The data source `paimon-branch` for notebooks and other sessions of Spark."""
