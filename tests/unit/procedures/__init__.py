"""Tests of branch_console.procedures."""
