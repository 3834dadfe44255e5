"""data.py: the task grammar, and the generators of training sequences and evaluation prompts.

A prompt is a service log that ends in a question. Four kinds of question have answers that a
program can check:

    recall   ? K7Q2                  -> " 4815"   (the log has a line "key K7Q2 4815")
    sum      12+30=                  -> "42"
    tool     subtract 3 from 10>     -> {"tool":"sub","args":[10,3]}
    count    get K7Q2 full>          -> " 4868 4869 ... 4900"   (the record says 4868)

Every answer ends with <|eos|>. README.md states the same grammar in words, precisely enough to
write it again in C; this file is its reference. Everything random comes from a `random.Random`
that the caller seeds, and what is held out is decided by integer hashes, so it is the same on
every machine and in every language.

Not here: tokenising (vocab.py), the loss weights (train.py).
"""

import random

from vocab import BOS_ID, DIGITS, EOS_ID, KEY_LETTERS, LEVELS, STATES, SUBJECTS, VERBS, encode

PROMPT_TOKENS = 2048
KEYS_IN_LOG = (8, 16)       # evaluation draws the number of keys from this range, ends included
KEY_DISTANCE = 3            # keys of one log differ in at least this many of their four symbols
HELD_OUT_ONE_IN = 10        # operand pairs that training never sees
EVAL_FILLER_ONE_IN = 5      # filler lines that only evaluation sees

# ---- what is held out ---------------------------------------------------------------------------


def mix32(x):
    """An integer hash (the "lowbias32" finaliser): every output bit depends on every input bit."""
    x ^= x >> 16
    x = x * 0x7FEB352D & 0xFFFFFFFF
    x ^= x >> 15
    x = x * 0x846CA68B & 0xFFFFFFFF
    return x ^ x >> 16


def fnv1a32(data):
    h = 0x811C9DC5
    for byte in data:
        h = (h ^ byte) * 0x01000193 & 0xFFFFFFFF
    return h


OPS = ["sum", "add", "sub", "mul", "div", "max", "get"]  # index = op number in the hash


def is_held_out(op, a, b):
    """Whether the unordered pair (a, b), both < 1024, of this operation is kept from training."""
    lo, hi = min(a, b), max(a, b)
    return mix32(OPS.index(op) << 20 | lo << 10 | hi) % HELD_OUT_ONE_IN == 0


def is_eval_filler(line):
    return mix32(fnv1a32(line.encode())) % EVAL_FILLER_ONE_IN == 0


# ---- the grammar --------------------------------------------------------------------------------


def filler_line(r, for_eval):
    """One log line without a key ("07:32 warn disk read 120 ms"), from one of two disjoint sets."""
    while True:
        line = "%02d:%02d %s %s %s" % (r.randrange(24), r.randrange(60), r.choice(LEVELS),
                                       r.choice(SUBJECTS), r.choice(VERBS))
        form = r.randrange(4)
        if form == 1:
            line += " " + r.choice(STATES)
        elif form == 2:
            line += " %d ms" % r.randrange(1000)
        elif form == 3:
            line += " %d %s" % (r.randrange(1000), r.choice(STATES))
        if is_eval_filler(line) == for_eval:
            return line + "\n"


def random_key(r):
    return r.choice(KEY_LETTERS) + r.choice(DIGITS) + r.choice(KEY_LETTERS) + r.choice(DIGITS)


def log_keys(r, count):
    """{key: value} with any two keys differing in at least KEY_DISTANCE symbols."""
    keys = {}
    while len(keys) < count:
        key = random_key(r)
        if all(sum(a != b for a, b in zip(key, other)) >= KEY_DISTANCE for other in keys):
            keys[key] = "%04d" % r.randrange(10000)
    return keys


def alike_log_keys(r, count):
    """As log_keys, for training only: a log in which everything but the whole key misleads.

    Values share their first three digits with many others, and keys come from few symbols. On
    ordinary logs a model gets far by continuing "the record that also went 64..", and then fails on
    two records that begin alike; here that habit does not pay.
    """
    pools = [r.sample(KEY_LETTERS, 9), r.sample(DIGITS, 7),
             r.sample(KEY_LETTERS, 9), r.sample(DIGITS, 7)]
    starts = [r.sample(DIGITS, 2) for _ in range(3)]
    keys = {}
    while len(keys) < count:
        key = "".join(r.choice(pool) for pool in pools)
        if all(sum(a != b for a, b in zip(key, other)) >= KEY_DISTANCE for other in keys):
            keys[key] = "".join(r.choice(pool) for pool in starts) + r.choice(DIGITS)
    return keys


def key_line(key, value):
    return f"key {key} {value}\n"


def recall_question(key, value):
    return f"? {key}", f" {value}"


COUNT_NUMBERS = (30, 50)    # numbers of a counted answer: 4 tokens each, so 120 to 200


def numbers_to_full(value):
    """How many numbers from this value to the next one that ends in 00, both included."""
    return 101 - int(value) % 100 if int(value) % 100 else 1


def count_question(key, value):
    """Count from the key's value to the next number that ends in 00; 0000 follows 9999."""
    run = [(int(value) + i) % 10000 for i in range(numbers_to_full(value))]
    return f"get {key} full>", "".join(" %04d" % x for x in run)


def value_to_count(r, numbers):
    """A value from which `numbers` (2 to 100) numbers lead to the next one that ends in 00."""
    return "%02d%02d" % (r.randrange(100), 101 - numbers)


def sum_question(r, for_eval):
    """Two two-digit operands. Training also sees some one-digit sums: they teach the carry."""
    if not for_eval and r.random() < 0.15:
        a, b = r.randrange(10), r.randrange(10)
        return f"{a}+{b}=", f"{a + b}"
    while True:
        a, b = r.randrange(10, 100), r.randrange(10, 100)
        if is_held_out("sum", a, b) == for_eval:
            return f"{a}+{b}=", f"{a + b}"


TOOLS = {  # tool name -> (wording, whether the wording names the operands in reverse)
    "add": ("add {} and {}>", False),
    "sub": ("subtract {} from {}>", True),
    "mul": ("multiply {} by {}>", False),
    "div": ("divide {} by {}>", False),
    "max": ("larger of {} and {}>", False),
}


def operand(r):
    """One digit in 20 %, two in 56 %, three in 24 % of draws."""
    x = r.random()
    if x < 0.2:
        return r.randrange(10)
    return r.randrange(10, 100) if x < 0.76 else r.randrange(100, 1000)


def half_key_number(half):
    """"B0" to "X9" numbered 0 to 189, so that a key is a pair of numbers as sums have."""
    return KEY_LETTERS.index(half[0]) * 10 + int(half[1])


def tool_question(r, for_eval, tool=None):
    """A question for this tool, or for any of the six with equal probability."""
    tool = tool or r.choice(OPS[1:])
    if tool == "get":
        while True:
            key = random_key(r)
            if is_held_out("get", half_key_number(key[:2]), half_key_number(key[2:])) == for_eval:
                return f"find {key}>", '{"tool":"get","args":["%s"]}' % key
    wording, reverse = TOOLS[tool]
    while True:
        a, b = operand(r), operand(r)
        if is_held_out(tool, a, b) == for_eval:
            x, y = (b, a) if reverse else (a, b)
            return wording.format(a, b), '{"tool":"%s","args":[%d,%d]}' % (tool, x, y)


# ---- evaluation prompts -------------------------------------------------------------------------


def eval_log(r, tokens, keys):
    """Exactly `tokens` ids of log that hold every key line, in random order, and unseen filler.

    Whole lines rarely add up, so a filler line is put first and loses its leading tokens, as the
    tail of a file would.
    """
    lines = [encode(key_line(k, v)) for k, v in keys.items()]
    total = sum(map(len, lines))
    while total < tokens:
        line = encode(filler_line(r, True))
        lines.append(line)
        total += len(line)
    first = lines.pop()
    r.shuffle(lines)
    return first[total - tokens :] + [t for line in lines for t in line]


def eval_prompt(r, kind, keys_in_log=KEYS_IN_LOG, tokens=PROMPT_TOKENS):
    """(prompt ids of exactly `tokens`, BOS first; answer text; question text)."""
    keys = log_keys(r, r.randint(*keys_in_log))
    if kind == "recall":
        key = r.choice(list(keys))
        question, answer = recall_question(key, keys[key])
    elif kind == "count":
        key = r.choice(list(keys))
        keys[key] = value_to_count(r, r.randint(*COUNT_NUMBERS))
        question, answer = count_question(key, keys[key])
    else:
        question, answer = (sum_question if kind == "sum" else tool_question)(r, True)
    tail = encode(question)
    ids = [BOS_ID] + eval_log(r, tokens - 1 - len(tail), keys) + tail
    assert len(ids) == tokens
    return ids, answer, question


# ---- training sequences -------------------------------------------------------------------------

# What an answer token is, for the loss weights and the progress line.
(NONE, RECALL_FIRST, RECALL, TOOL, SUM, SUM_UNITS, END, TOOL_ARG, GET_LETTER, COUNT_SAME, COUNT_TENS,
 COUNT_CARRY, COUNT_UNITS, COUNT_END) = range(14)
KIND_NAMES = ["-", "recall1", "recall", "tool", "sum", "units", "end", "arg", "get", "same", "tens",
              "carry", "units+", "full"]
NEWLINE = encode("\n")[0]
LETTER_IDS = {encode(letter)[0] for letter in KEY_LETTERS}
OPERAND_SYMBOLS = LETTER_IDS | set(encode(DIGITS))

_bank = []


def training_filler(r):
    """A random line of a fixed bank of encoded lines: drawing afresh costs more than the model."""
    if not _bank:
        bank_r = random.Random(1)
        _bank.extend(encode(filler_line(bank_r, False)) for _ in range(20000))
    return _bank[r.randrange(len(_bank))]


def answered(question, answer, kinds):
    """One question with its answer, <|eos|> and a newline: (ids, kind of each id).

    kinds(answer ids) names the kind of each answer token.
    """
    q, a = encode(question), encode(answer)
    return q + a + [EOS_ID, NEWLINE], [NONE] * len(q) + kinds(a) + [END, NONE]


def recall_kinds(ids):
    return [RECALL_FIRST] + [RECALL] * (len(ids) - 1)


def tool_kinds(ids):
    """JSON text, the operands copied into it, and, hardest to learn, the first letter that "find" names."""
    kinds = [TOOL_ARG if t in OPERAND_SYMBOLS else TOOL for t in ids]
    if kinds.count(TOOL_ARG) and ids[kinds.index(TOOL_ARG)] in LETTER_IDS:
        kinds[kinds.index(TOOL_ARG)] = GET_LETTER
    return kinds


def sum_kinds(ids):
    return [SUM] * (len(ids) - 1) + [SUM_UNITS]


def count_kinds(ids):
    """The recalled first number, then the unchanged, carried-into and units digits of each."""
    kinds = recall_kinds(ids[:4])
    for i in range(4, len(ids)):
        if i % 4 == 3:
            kinds.append(COUNT_UNITS)
        elif ids[i] != ids[i - 4]:
            kinds.append(COUNT_CARRY)
        else:
            kinds.append(COUNT_TENS if i % 4 == 2 else COUNT_SAME)
    return kinds


def random_question(r, keys, key_list, mix, hard, numbers=None):
    """A question of a kind drawn with weights mix = (recall, tool, sum[, count])."""
    x = r.random() * sum(mix)
    if x >= sum(mix[:3]):
        fits = [k for k in key_list if numbers[0] <= numbers_to_full(keys[k]) <= numbers[1]]
        key = fits[r.randrange(len(fits))]
        ids, kinds = answered(*count_question(key, keys[key]), count_kinds)
        kinds[-2] = COUNT_END
        return ids, kinds
    if x < mix[0]:
        key = key_list[r.randrange(len(key_list))]
        return answered(*recall_question(key, keys[key]), recall_kinds)
    if x < mix[0] + mix[1]:
        tool = "get" if hard and r.random() < 0.5 else None
        return answered(*tool_question(r, False, tool), tool_kinds)
    return answered(*sum_question(r, False), sum_kinds)


def values_to_count(r, keys, numbers):
    """Gives a third of the keys, and at least one, a value whose count has a length in `numbers`."""
    for i, key in enumerate(keys):
        if r.random() < 0.2:  # counts that carry into the thousands are rare, so training sees more
            keys[key] = keys[key][0] + "9" + keys[key][2:]
        if i == 0 or r.random() < 0.35:
            keys[key] = keys[key][:2] + value_to_count(r, r.randint(*numbers))[2:]


def training_sequence(r, tokens, key_range, log_share, mix, jumps, span, hard=False, numbers=None):
    """ids, kinds and positions of `tokens` + 1 tokens: a log, then many answered questions.

    key_range   how many keys the log has
    log_share   range of the part of the sequence that is log; the rest is questions
    mix         weights of recall, tool, sum and, where `numbers` is given, count questions
    jumps       positions leap ahead a few times, up to `span`: a short sequence then shows the
                distances of a long one at a fraction of its price
    hard        keys and values by alike_log_keys, and half of the tool questions are "find"
    numbers     range of the lengths of counted answers
    """
    log_tokens = int(tokens * r.uniform(*log_share))
    line_tokens = len(encode(key_line("K7Q2", "4815")))
    count = max(1, min(r.randint(*key_range), log_tokens // line_tokens))
    keys = (alike_log_keys if hard else log_keys)(r, count)
    if numbers:
        values_to_count(r, keys, numbers)
    log = [encode(key_line(k, v)) for k, v in keys.items()]
    total = 1 + sum(map(len, log))
    while total < log_tokens:
        line = training_filler(r)
        log.append(line)
        total += len(line)
    r.shuffle(log)
    parts = [(line, [NONE] * len(line)) for line in log]
    key_list = list(keys)
    while total < tokens + 1:
        if r.random() < 0.05:  # a log line between questions: answers don't depend on neat order
            line = training_filler(r)
            part = line, [NONE] * len(line)
        else:
            part = random_question(r, keys, key_list, mix, hard, numbers)
        parts.append(part)
        total += len(part[0])
    leaps = {}
    if jumps and span > total:
        room, count = r.randint(0, span - total), r.randint(1, 4)
        for _ in range(count):
            leaps[r.randrange(len(parts))] = room // count
    ids, kinds, positions, at = [BOS_ID], [NONE], [0], 1
    for i, (part, kind) in enumerate(parts):
        at += leaps.get(i, 0)
        ids += part
        kinds += kind
        positions += range(at, at + len(part))
        at += len(part)
    return ids[: tokens + 1], kinds[: tokens + 1], positions[: tokens + 1]


if __name__ == "__main__":
    from vocab import decode
    demo_r = random.Random(0)
    demo = training_sequence(demo_r, 256, (4, 8), (0.4, 0.6), (0.3, 0.2, 0.2, 0.3), True, 2304,
                             numbers=(2, 6))
    print(decode(demo[0]))
    for kind in ("recall", "sum", "tool", "count"):
        prompt, answer, _ = eval_prompt(demo_r, kind, (3, 3), 128)
        assert encode(decode(prompt[1:])) == prompt[1:]
        print(decode(prompt), "=>", answer)
