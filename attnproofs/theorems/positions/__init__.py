"""Theorems of the chapter positions: one file each."""
