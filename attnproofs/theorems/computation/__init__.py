"""Theorems of the chapter computation: one file each."""
