"""Theorems of the chapter values: one file each."""
