"""The claims about attention, confirmed by numbers at 50 digits and more.

Hypothesis suites, one file a chapter, written by hand with mpmath and exact rationals. They share
nothing with the proofs: no file here imports the kernel, a theorem file or `attnproofs.reference`,
so an error would have to be made twice, independently, to stay unseen.
`attention_mp` holds the small plain implementations that the suites confirm.
"""
