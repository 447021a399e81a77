"""Theorems of the chapter notation: one file each."""
