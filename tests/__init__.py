"""Tests of the toolkit. Each folder is a package, so that two may hold files of the same name."""
