"""Tests of core.jobs."""
