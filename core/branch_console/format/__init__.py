"""Bytes and values: Paimon's files as frozen values and Arrow columns, in both directions.

Knows what the files of Paimon and of our ledger mean. Does not know paths, stores or the clock.
"""
