#!/usr/bin/env python3
"""fp8_golden.py: writes golden/fp8_e4m3.txt by ml_dtypes' float8_e4m3fn: the value of every code, and the codes of the floats at
and around every border between two codes. Needs numpy and ml_dtypes (made with 0.6.0):

    python3 common/backend/cpu/tests/fp8_golden.py > common/backend/cpu/tests/golden/fp8_e4m3.txt

A float greater than 448 becomes NaN in ml_dtypes; here it is cut to 448 first, which is the specification's saturating conversion.
"""
import ml_dtypes
import numpy as np

E4M3 = ml_dtypes.float8_e4m3fn


def bits(f):
    return int(np.float32(f).view(np.uint32))


def code(f):
    cut = np.clip(np.float32(f), -448, 448)
    return int(np.asarray(cut).astype(E4M3).view(np.uint8))


values = np.arange(256, dtype=np.uint8).view(E4M3).astype(np.float32)
print(f"# made by fp8_golden.py, ml_dtypes {ml_dtypes.__version__}; floats by their bits")
print("# value CODE FLOAT")
for c, v in enumerate(values):
    print(f"value {c:02x} {0x7fc00000 if np.isnan(v) else bits(v):08x}")
print("# code FLOAT CODE")
floats = {0.0, np.float32(1e-45), np.float32(3e38), np.float32(np.inf), np.float32(449), np.float32(464), np.float32(480)}
for low, high in zip(values[:126], values[1:127]):
    middle = np.float32((np.float64(low) + np.float64(high)) / 2)
    floats |= {middle, high, *(np.nextafter(f, np.float32(to)) for f in (middle, high) for to in (0, np.inf))}
for f in sorted(floats):
    for signed in (np.float32(f), -np.float32(f)):
        print(f"code {bits(signed):08x} {code(signed):02x}")
for nan in (0x7fc00000, 0x7f800001):
    print(f"code {nan:08x} 7f")
