"""The trusted base: terms, rules, replay. Standard library only.

What is trusted: the modules of this folder, Python's integers, `fractions`, `hashlib` and `json`.
What is not: SymPy, NumPy, the proof scripts, the search for steps in `attnproofs.calculus`, the
order in which certificates are given, and anything that happens in the process that wrote a
certificate. A statement counts as proved when `replay` accepts its certificate in a clean
interpreter.

Read in this order: `index` and `terms` (the language), `statement` (what is pinned), `context`
(what is known where), `sign` and `wellformed` (side conditions), `algebra` (equality by normal
form), `position`, `lemmas` and `rules` (steps), `axioms` (what all of it assumes), `read` and
`replay` (from a file to a proved statement). `refused` is how the kernel says no.
"""
