#!/usr/bin/env python3
"""check_corpus.py: test_corpus.py with everything: both compilers, unchanged and renamed, nvcc on every file."""
import sys

import test_corpus

sys.exit(test_corpus.main(True))
