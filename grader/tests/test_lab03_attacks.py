#!/usr/bin/env python3
"""test_lab03_attacks.py [NAME...]: hostile and broken kernel files get no point of copy's, a message with the reason, and do not hang.

lab03/attacks/NAME.cu is handed in as copy.cu, as `make attack` does (attack.py), with a practice seed alone. Its comment says
`expect: TEXT`: one of the texts (parted by |) stands in what the grader says; `points: N` where it isn't 0, for those that are
right and only hope to be counted less; and `hooks: compiler` for those that are graded as if clang weren't there. TAP.
"""

# servelab-test: waits long
import functools
import os
import sys

import attack


def main():
    attacks = [a for a in attack.corpus("03") if not sys.argv[1:] or os.path.basename(a.path)[:-3] in sys.argv[1:]]
    results = []

    def each(r):
        results.append(r)
        why = "; ".join(text for _, text in r["found"])
        print(f"{'not ok' if why else 'ok'} {len(results)} - {r['attack']}{': ' + why if why else ''}", flush=True)
    attack.run_all(attacks, 2, each, functools.partial(attack.examine, parts=(attack.ordinary,)))
    enough = bool(sys.argv[1:]) or len(attacks) >= 45
    print(f"{'ok' if enough else 'not ok'} {len(attacks) + 1} - {len(attacks)} attacks")
    print(f"1..{len(attacks) + 1}")
    return not enough or any(r["found"] for r in results)


if __name__ == "__main__":
    sys.exit(main())
