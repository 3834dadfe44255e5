#!/usr/bin/env bash
# check_format.sh [fix]: would clang-format change a C or CUDA source of this tree? `fix` lets it.
# Exit status: 0 no; 1 yes; 77 unknown, because this version of clang-format isn't installed.
set -u
cd "$(dirname "$0")/../.." || exit 4
version=14 # the tree's; other versions break lines in other places
how='--dry-run --Werror'
[ "${1:-}" = fix ] && how=-i
mapfile -t files < <(git ls-files '*.c' '*.h' '*.cu' '*.cuh' 2>/dev/null |
    grep . || find common grader labs solutions -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh')
for program in clang-format-$version clang-format; do
    command -v $program >/dev/null || continue
    here=$($program --version | grep -oE 'version [0-9]+' | cut -d' ' -f2)
    [ "$here" = $version ] || continue
    # shellcheck disable=SC2086
    $program $how "${files[@]}" || { echo "run: make format" >&2; exit 1; }
    exit 0
done
echo "clang-format $version isn't here (${here:-no version} is); its package is clang-format-$version or clang-format"
exit 77
