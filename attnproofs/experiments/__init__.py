"""The usual experiments with attention, each with a derived prediction beside the measurement.

`expectations` holds the predictions (one-dimensional integrals, no sampling), `runs` draws the
random queries and keys, measures, and states the statistical error. The figures of
`attnproofs.typeset.figures` plot the same numbers.
"""
