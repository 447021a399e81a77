"""Theorems of the chapter gradients: one file each."""
