"""Tests of branch_console.jobs."""
