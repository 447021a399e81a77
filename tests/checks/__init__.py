"""Tests of the numeric suites: each check is shown able to fail."""
