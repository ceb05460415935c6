"""Tests of core.procedures."""
