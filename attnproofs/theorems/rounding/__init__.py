"""Theorems of the chapter rounding: one file each."""
