"""Tests of core.commit."""
