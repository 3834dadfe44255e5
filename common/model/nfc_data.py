#!/usr/bin/env python3
"""nfc_data.py > nfc_data.c: the tables of Unicode's normalisation form C, from Python's unicodedata.

A composite that Hugging Face's `tokenizers` doesn't know, because its Unicode is older, is left out where that package is
installed: a model's ids are what it makes of a text. tests/check_nfc.py compares every character with it.
"""
import unicodedata as u

try:
    from tokenizers.normalizers import NFC
    known = lambda c: NFC().normalize_str(u.normalize("NFD", chr(c))) == u.normalize("NFC", chr(c)) == NFC().normalize_str(chr(c))
    around = ["q%s" + x for x in "\u0334\u0323\u0315\u0345"] + ["q" + x + "%s" for x in "\u0334\u0323\u0315\u0345"]
    reorders = lambda c: all(NFC().normalize_str(s % chr(c)) == u.normalize("NFC", s % chr(c)) for s in around)
except ImportError:
    known = reorders = lambda c: True

HANGUL = range(0xac00, 0xd7a4)


def numbers(name, kind, values):
    print("\nconst %s %s[] = {" % (kind, name))
    line = "   "
    for v in values:
        word = " %d," % v
        if len(line) + len(word) > 100:
            print(line)
            line = "   "
        line += word
    print(line + "\n};")


parts = {}
for c in range(0x110000):
    d = u.decomposition(chr(c))
    if c not in HANGUL and d and not d.startswith("<") and known(c):
        parts[c] = [int(x, 16) for x in d.split()]
composites = [c for c in parts if len(parts[c]) == 2 and u.normalize("NFC", chr(c)) == chr(c)]
classes = []
for c in range(0x110000):
    k = u.combining(chr(c)) and reorders(c) and u.combining(chr(c))
    if k and classes and classes[-1][1] == c - 1 and classes[-1][2] == k:
        classes[-1][1] = c
    elif k:
        classes.append([c, c, k])
order = {c: i for i, c in enumerate(parts)}
print("/* nfc_data.c: made by nfc_data.py from Unicode %s; don't edit. See nfc.h. */" % u.unidata_version)
print('#include "model/nfc.h"\n\n/* clang-format off */')
numbers("nfc_parts", "uint32_t", [v for c in parts for v in [c] + (parts[c] + [0])[:2]])
numbers("nfc_composites", "uint16_t", [order[c] for c in sorted(composites, key=lambda c: parts[c])])
numbers("nfc_classes", "uint32_t", [v for r in classes for v in r])
print("\n/* clang-format on */")
print("const int nfc_n_parts = %d, nfc_n_composites = %d, nfc_n_classes = %d;" % (len(parts), len(composites), len(classes)))
