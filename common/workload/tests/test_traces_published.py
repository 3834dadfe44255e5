"""test_traces_published.py: our readers of traces against Python's csv, json, datetime and decimal.

Two parts. The published traces, where they stand (SERVELAB_DATA, else ../shared/data): row counts,
token sums and every single row. And files of random rows in each published form, with bad rows
among them, so that the comparison also runs where no published file is at hand.
"""
import csv, datetime, decimal, io, json, os, random, subprocess, sys, tempfile

OBJ = os.environ.get("OBJ", "build/obj/gcc-release-solutions")
READER = os.path.join(OBJ, "common/workload/tests/test_traces")
DATA = os.environ.get("SERVELAB_DATA", "../shared/data")
NS = 1_000_000_000
count = failed = 0


def report(ok, name, why=""):
    global count, failed
    count += 1
    failed += not ok
    print(f"{'ok' if ok else 'not ok'} {count} - {name}" + ("" if ok else f": {why}"))


def ours(form, path, skip=False):
    """({'rows': ..., ...}, [[at_ns, prompt, output, prefix...], ...]) as our reader has it."""
    args = [READER, "--rows", form, path] + (["skip"] if skip else [])
    done = subprocess.run(args, stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines()
    if done.returncode != 0:
        raise ValueError(lines[0] if lines else f"exit status {done.returncode}")
    words = lines[0].split()
    facts = {words[i]: int(words[i + 1]) for i in range(0, len(words), 2)}
    rows = [line.split() for line in lines[1:]]
    return facts, [[int(r[0]), int(r[1]), int(r[2])] + r[3:] for r in rows]


# ---- the same by Python's means ----------------------------------------------------------------

def azure_ns(text):
    text = text.replace("+00:00", "")
    whole, _, digits = text.partition(".")
    t = datetime.datetime.strptime(whole, "%Y-%m-%d %H:%M:%S") - datetime.datetime(1970, 1, 1)
    return (t.days * 86400 + t.seconds) * NS + int((digits + "0" * 9)[:9])


def decimal_ns(text, unit):
    return int((decimal.Decimal(text) * unit).quantize(1, rounding=decimal.ROUND_HALF_UP))


CSV = {"azure": ("TIMESTAMP", "ContextTokens", "GeneratedTokens", azure_ns),
       "burstgpt": ("Timestamp", "Request tokens", "Response tokens", lambda t: decimal_ns(t, NS)),
       "vidur": ("arrived_at", "num_prefill_tokens", "num_decode_tokens",
                 lambda t: decimal_ns(t, NS))}


def theirs(form, text):
    """(rows as written [[ns, prompt, output, ids...]], in the order of the file)"""
    rows = []
    if form == "mooncake":
        for line in text.splitlines():
            r = json.loads(line, parse_float=decimal.Decimal)
            rows.append([decimal_ns(str(r["timestamp"]), 10**6), r["input_length"],
                         r["output_length"]] + r.get("hash_ids", []))
        return rows
    time, prompt, output, to_ns = CSV[form]
    for r in csv.DictReader(io.StringIO(text)):
        rows.append([to_ns(r[time]), int(r[prompt]), int(r[output])])
    return rows


def compare(name, form, path, text, skipped=0):
    want = theirs(form, text)
    try:
        facts, got = ours(form, path, skipped > 0)
    except ValueError as e:
        return report(False, name, e)
    sums = {"rows": len(want), "skipped": skipped,
            "zero": sum(r[1] == 0 or r[2] == 0 for r in want),
            "prompt": sum(r[1] for r in want), "output": sum(r[2] for r in want),
            "unsorted": int(any(a[0] > b[0] for a, b in zip(want, want[1:])))}
    report(facts == sums, f"{name}: {sums['rows']} rows, {sums['prompt']} prompt and "
           f"{sums['output']} output tokens", f"we have {facts}, Python {sums}")
    want.sort(key=lambda r: r[0])  # stable
    first, hashes, wrong = want[0][0], {}, None
    for i, (w, g) in enumerate(zip(want, got)):
        same = [w[0] - first, max(w[1], 1), max(w[2], 1)] == g[:3] and len(w) == len(g)
        # one hash an id, one id a hash
        same = same and all(hashes.setdefault(a, b) == b for a, b in zip(w[3:], g[3:]))
        if not same and wrong is None:
            wrong = f"row {i}: we have {g[:8]}, Python {w[:8]}"
    if len(set(hashes.values())) != len(hashes):
        wrong = wrong or "two ids have one hash"
    report(wrong is None and len(want) == len(got), f"{name}: every row", wrong or "row counts")


# ---- random files in the published forms -------------------------------------------------------

def random_time(form, rng):
    if form == "azure":
        t = datetime.datetime(2023, 11, 16) + datetime.timedelta(seconds=rng.randrange(10**8))
        if rng.random() < 0.5:  # 2023: seven digits
            return f"{t}.{rng.randrange(10**7):07d}"
        return f"{t}+00:00" if rng.random() < 0.2 else f"{t}.{rng.randrange(10**6):06d}+00:00"
    if form == "vidur":
        return repr(rng.choice([rng.random() * 1e-4, rng.random() * 3600, rng.random() * 1e6]))
    return str(rng.randrange(10**7)) if rng.random() < 0.5 else f"{rng.randrange(10**7)}.0"


def random_rows(form, rng, n):
    for _ in range(n):
        prompt = rng.choice([0, rng.randrange(1, 5000), rng.randrange(1, 200000)])
        output = rng.choice([0, rng.randrange(1, 1000), rng.randrange(1, 1000)])
        if form == "mooncake":
            row = {"timestamp": rng.choice([rng.randrange(10**7), rng.randrange(10**9) / 100]),
                   "input_length": prompt, "output_length": output}
            if rng.random() < 0.9:
                row["hash_ids"] = [rng.randrange(1000) for _ in range((prompt + 511) // 512)]
            yield json.dumps(row)
        elif form == "burstgpt":
            yield (f"{random_time(form, rng)},{rng.choice(['GPT-3.5', 'GPT-4'])},{prompt},{output},"
                   f"{prompt + output},{rng.choice(['Conversation log', 'API log'])}")
        else:
            yield f"{random_time(form, rng)},{prompt},{output}"


HEADS = {"azure": "TIMESTAMP,ContextTokens,GeneratedTokens\n", "mooncake": "",
         "burstgpt": "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n",
         "vidur": "arrived_at,num_prefill_tokens,num_decode_tokens\n"}
BAD = {"azure": "2023-02-30 00:00:00,1,1", "mooncake": '{"timestamp": 1, "input_length": -1}',
       "burstgpt": "5,GPT-3.5,1.5,2,3,API log", "vidur": "nan,1,1"}


def generated(form, folder):
    rng = random.Random(f"traces {form}")
    rows = list(random_rows(form, rng, 2000))
    path = os.path.join(folder, form)
    text = HEADS[form] + "\n".join(rows)
    with open(path, "w", newline="") as f:
        f.write(text)
    compare(f"generated {form}", form, path, text)
    for i in range(0, 2000, 100):
        rows[i:i] = [BAD[form]]
    with open(path, "w", newline="") as f:
        f.write("\ufeff" + HEADS[form].replace("\n", "\r\n") + "\r\n".join(rows) + "\r\n\r\n")
    compare(f"generated {form} with 20 bad rows", form, path, text, skipped=20)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for form in HEADS:
            generated(form, folder)
    global count
    for name, form in (("AzureLLMInferenceTrace_conv.csv", "azure"),
                       ("mooncake_synthetic_trace.jsonl", "mooncake")):
        path = os.path.join(DATA, "traces", name)
        if not os.path.exists(path):
            count += 1
            print(f"ok {count} - published {name} # SKIP no shared test data (SERVELAB_DATA)")
            continue
        with open(path, newline="") as f:
            compare(f"published {name}", form, path, f.read())
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())
