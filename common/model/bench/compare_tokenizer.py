#!/usr/bin/env python3
"""compare_tokenizer.py [MODEL [TEXT]]: our tokenizer's speed beside Hugging Face's `tokenizers`, in one run.

Both encode the same pieces of about 4,096 bytes on one thread; rounds alternate, so that a neighbour on the machine
disturbs both. TEXT is by default this tree's own C, Python and Markdown. Before anything is timed the ids must be equal.
Prints medians, spread and the ratio. Needs `tokenizers` (common/setup/requirements-foreign.txt) and `make bench`.
"""
import glob, json, os, statistics, subprocess, sys, tempfile, time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
OBJ = os.environ.get("OBJ", os.path.join(TOP, "build/obj/gcc-release-solutions"))
BENCH = os.path.join(OBJ, "common/model/bench/bench_tokenizer")
sys.argv, argv = sys.argv[:1], sys.argv[1:]
sys.path.insert(0, os.path.join(HERE, "..", "tests"))
import hf_tokenizer as hf  # noqa: E402  (the library's side of check_tokenizer_hf.py)

ROUNDS, PIECE = 7, 4096


def own_text():
    files = [f for pattern in ("common/**/*.[ch]", "common/**/*.py", "labs/**/*.md", "solutions/**/*.c")
             for f in sorted(glob.glob(os.path.join(TOP, pattern), recursive=True))]
    return b"".join(open(f, "rb").read() for f in files)[:2_000_000].decode(errors="ignore").encode()


def pieces(data):
    """As bench_tokenizer.c cuts them."""
    while data:
        n = len(data) if len(data) <= PIECE else (data.rfind(b"\n", 0, PIECE) + 1 or PIECE)
        yield data[:n].decode()
        data = data[n:]


def main():
    model = argv[0] if argv else os.path.join(TOP, "build/models/smollm2.gguf")
    data = open(argv[1], "rb").read() if len(argv) > 1 else own_text()
    texts = list(pieces(data))
    theirs = hf.make_tokenizer(hf.read_metadata(model), False)
    tokens = sum(len(theirs.encode(t, add_special_tokens=False).ids) for t in texts)  # warms its cache, too
    ours_mb_s, theirs_mb_s, last = [], [], None
    with tempfile.NamedTemporaryFile() as f:
        f.write(data)
        f.flush()
        for _ in range(ROUNDS):
            last = json.loads(subprocess.check_output([BENCH, model, f.name, "5"]))
            ours_mb_s.append(last["encode_mb_per_s"][0])
            t0 = time.thread_time()
            for t in texts:
                theirs.encode(t, add_special_tokens=False)
            theirs_mb_s.append(len(data) / 1e6 / (time.thread_time() - t0))
    if last["tokens"] != tokens:
        raise SystemExit("different ids: %d and %d tokens; nothing is compared" % (last["tokens"], tokens))
    show = lambda v: "%6.2f MB/s (%.2f to %.2f)" % (statistics.median(v), min(v), max(v))
    print("%d bytes, %d tokens, %s" % (len(data), tokens, os.path.basename(model)))
    print("ours        " + show(ours_mb_s))
    print("tokenizers  " + show(theirs_mb_s) + "  " + hf.tokenizers.__version__)
    print("ratio       %.1f" % (statistics.median(ours_mb_s) / statistics.median(theirs_mb_s)))
    print("model_open %.2f ms, tokenizer_create %.1f ms, CPU share %.2f"
          % (last["model_open_ms"][0], last["tokenizer_create_ms"][0], last["cpu_share"]))


main()
