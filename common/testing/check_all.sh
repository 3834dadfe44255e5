#!/usr/bin/env bash
# check_all.sh: what `make check-all` runs: every check of the tree, as named steps. A failed step doesn't stop the rest.
# ONLY=NAME runs one of them. Ends with a table and the line "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/../.." || exit 4
. common/testing/steps.sh

step test make test
step format common/testing/check_format.sh
step headers make check-headers
step labs make check-labs
step clang make CC=clang WERROR=1 -j"$(nproc)" build
step asan make MODE=asan test-c
step tsan make MODE=tsan test-c
step mutants make check-mutants
step attack make attack
step bare-debian make check-bare-debian
step foreign make check-foreign
step clients make check-clients
steps_end
