"""Theorems of the chapter sums: one file each."""
