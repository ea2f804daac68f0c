"""hone.jit: JAX functions answered by tuned programs.

function    the function that hone.jit returns: signatures, and which program answers a call
parameters  static arguments, weights, symbolic sizes
context     settings of JAX that belong to a signature
flat        one signature as a program of flat arrays
program     its tuned program: from the cache or from a tune, judged against jax.jit
duel        the judgement: run times and results
store       tuned programs on disk
background  the thread that tunes behind other work
"""
