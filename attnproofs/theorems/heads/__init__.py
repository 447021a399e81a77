"""Theorems of the chapter heads: one file each."""
