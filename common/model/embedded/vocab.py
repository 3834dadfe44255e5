"""vocab.py: the embedded model's vocabulary (448 tokens) and a plain byte-level BPE encoder.

The scheme is GPT-2's: text is cut into pre-tokens by one regular expression, each pre-token is
written byte by byte in GPT-2's printable alphabet, and merges are applied in rank order. So the
file is read by llama.cpp, by Hugging Face `tokenizers` and by servelab's C reader without a special
case. The merges are chosen by hand so that every digit, every symbol of a key and every word of the
task grammar is exactly one token.

Why the merges give those pieces. All merges extend a pre-token's *front* (" ", " f", " fl", ...,
" flush"), and those that start with a space outrank those that don't. A pre-token has one front,
so two merges never compete, except inside the bare words ("larger" holds "ar" of "args" and "ge"
of "get"), where the order of BARE_PIECES decides. `python vocab.py` checks all of it.

Not here: the task grammar (data.py), the GGUF keys (export_gguf.py).
"""

from functools import lru_cache

import regex  # \p{L} and \p{N}, which the standard library's re does not have

# The "gpt-2" pre-tokenizer, letter for letter.
PRE_TOKEN = regex.compile(
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
)

# ---- the pieces that must be single tokens ------------------------------------------------------

KEY_LETTERS = "BCDFGHJKLMNPQRSTVWX"  # 19 consonants: no vowel, so no key spells a word
DIGITS = "0123456789"

LEVELS = ["info", "warn", "debug"]
SUBJECTS = ["worker", "cache", "queue", "disk", "node", "net", "user", "batch"]
VERBS = ["read", "write", "sync", "flush", "load", "open", "retry", "start", "stop"]
STATES = ["ok", "done", "slow", "late", "full", "free"]

SPACED_PIECES = [" " + s for s in (
    list(KEY_LETTERS) + list(DIGITS) + LEVELS + SUBJECTS + VERBS + STATES
    + ["ms", "and", "from", "by", "of"])]
BARE_PIECES = [
    "larger", "key", "add", "subtract", "multiply", "divide", "find",  # first words of a line
    "tool", "args", "sub", "mul", "div", "max", "get",                 # words of an answer
    '{"', '":"', '","', '":["', '"]}', "]}",
]

BOS, EOS = "<|bos|>", "<|eos|>"


def _byte_alphabet():
    """GPT-2's map from a byte to a printable character, in GPT-2's id order."""
    kept = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1),
            *range(ord("®"), ord("ÿ") + 1)]
    table = {b: chr(b) for b in kept}
    for b in range(256):
        if b not in table:
            table[b] = chr(256 + len(table) - len(kept))
    return table


BYTE_TO_CHAR = _byte_alphabet()
CHAR_TO_BYTE = {c: b for b, c in BYTE_TO_CHAR.items()}


def _merges():
    """Front-extending merges for every piece, each once, in rank order."""
    merges = {}
    for piece in SPACED_PIECES + BARE_PIECES:
        chars = "".join(BYTE_TO_CHAR[b] for b in piece.encode())
        for n in range(1, len(chars)):
            merges.setdefault((chars[:n], chars[n]), len(merges))
    return merges


MERGES = _merges()  # (left, right) -> rank
TOKENS = list(BYTE_TO_CHAR.values()) + [a + b for a, b in MERGES]
# A multiple of 32, so that Q8_0 and Q4_0 blocks divide the embedding in either direction.
VOCAB_SIZE = -(-(len(TOKENS) + 2) // 32) * 32
UNUSED = [f"<|unused{i}|>" for i in range(VOCAB_SIZE - len(TOKENS) - 2)]
TOKENS += UNUSED + [BOS, EOS]
TOKEN_ID = {t: i for i, t in enumerate(TOKENS)}
BOS_ID, EOS_ID = TOKEN_ID[BOS], TOKEN_ID[EOS]


@lru_cache(maxsize=1 << 16)
def _encode_pre_token(text):
    parts = [BYTE_TO_CHAR[b] for b in text.encode()]
    while len(parts) > 1:
        ranked = [(MERGES.get(pair, 1 << 30), i) for i, pair in enumerate(zip(parts, parts[1:]))]
        rank, i = min(ranked)
        if rank == 1 << 30:
            break
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return tuple(TOKEN_ID[p] for p in parts)


def encode(text):
    """Token ids of ordinary text. Special tokens are not recognised in it; add BOS_ID yourself."""
    return [t for m in PRE_TOKEN.finditer(text) for t in _encode_pre_token(m.group())]


def decode(ids):
    """The text of some ids; special tokens appear by name."""
    out = bytearray()
    for i in ids:
        token = TOKENS[i]
        out += token.encode() if token.startswith("<|") else bytes(CHAR_TO_BYTE[c] for c in token)
    return out.decode("utf-8", "replace")


def check():
    """Every piece is one token, alone and with its neighbours; ids are dense; text comes back."""
    for piece in SPACED_PIECES + BARE_PIECES:
        assert len(encode(piece)) == 1, (piece, [TOKENS[i] for i in encode(piece)])
    assert len(set(TOKENS)) == len(TOKENS) == VOCAB_SIZE
    lines = {
        "key K7Q2 4815\n": ["key", " K", "7", "Q", "2", " 4", "8", "1", "5", "\n"],
        "? K7Q2": ["?", " K", "7", "Q", "2"],
        "12+30=42": list("12+30=42"),
        "larger of 3 and 107>": ["larger", " of", " 3", " and", " 1", "0", "7", ">"],
        '{"tool":"sub","args":[10,3]}':
            ['{"', "tool", '":"', "sub", '","', "args", '":[', *"10,3", "]}"],
        '{"tool":"get","args":["K7Q2"]}':
            ['{"', "tool", '":"', "get", '","', "args", '":["', *"K7Q2", '"]}'],
    }
    for text, pieces in lines.items():
        assert [decode([i]) for i in encode(text)] == pieces, [decode([i]) for i in encode(text)]
    odd = "naïve 🙂 \t\r\n  x"
    assert decode(encode(odd)) == odd


if __name__ == "__main__":
    check()
    print(f"{VOCAB_SIZE} tokens, {len(MERGES)} merges, {len(UNUSED)} unused")
