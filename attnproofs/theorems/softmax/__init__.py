"""Theorems of the chapter softmax: one file each."""
