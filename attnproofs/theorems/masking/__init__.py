"""Theorems of the chapter masking: one file each."""
