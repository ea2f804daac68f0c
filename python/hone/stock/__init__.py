"""Stock jaxlib, in a process of its own: what `hone run --against jaxlib` and `hone export --to jax` call.

The process has none of Hone's libraries, so that its XLA is jaxlib's own.
"""
