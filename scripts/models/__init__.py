"""The programs of the corpus, one module per kind; see registry.py."""

import program_parts  # noqa: F401  (first: it chooses the Keras backend)
