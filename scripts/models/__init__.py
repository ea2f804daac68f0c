"""The programs of the corpus, one module per kind; see registry.py."""

import example_programs  # noqa: F401  (first: it chooses the Keras backend)
