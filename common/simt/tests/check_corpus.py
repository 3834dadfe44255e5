#!/usr/bin/env python3
"""check_corpus.py: test_corpus.py with nothing left out: both compilers, as it stands and renamed, nvcc on every file."""
import sys

import test_corpus

sys.exit(test_corpus.main(True))
