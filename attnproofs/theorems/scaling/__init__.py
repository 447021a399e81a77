"""Theorems of the chapter scaling: one file each."""
