#!/usr/bin/env python3
"""check_folders_hf.py [--write]: logits of Hugging Face folders by transformers in float32 and by the native backend.

The folders are those of common/model/tests/small_folder.py: every family, storage type, RoPE variant and window, with
random weights. transformers loads each folder itself. Compared are all positions of the native backend (TAP), and the
committed golden logits, which test_folders.py compares the native backend with on every machine; --write makes those anew.
With build/models/smollm2.gguf, transformers also saves SmolLM2 as a folder in three files, which must give its ids and logits.

Needs torch, transformers and accelerate. Environment: OBJ, the folder of the test programs.
"""
import json, os, subprocess, sys, tempfile
import torch, transformers

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", "..", "..", ".."))
sys.path.insert(0, os.path.join(TOP, "common", "model", "tests"))
import small_folder

GOLDEN = os.path.join(HERE, "golden", "folders.json")
PROGRAM = os.path.join(os.environ.get("OBJ", os.path.join(TOP, "build/obj/gcc-release-solutions")),
                       "common/backend/cpu/tests/test_golden")
NATIVE = 1e-4  # of the greatest logit
AGAIN = 5e-6   # between two builds of torch


def logits_hf(folder, ids):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    with torch.no_grad():
        return model.eval()(torch.tensor([ids])).logits[0].tolist()


def logits_native(folder, ids):
    p = subprocess.run([PROGRAM, "--logits", folder, *map(str, ids)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return [[float(v) for v in row.split()] for row in p.stdout.splitlines()], p.stderr.strip()


SMOLLM2 = os.path.join(TOP, "build", "models", "smollm2.gguf")
TEXT = "The quick brown fox jumps over the lazy dog. It's 12345 o'clock in the caf\u00e9.\n\n  def f(x): return x"


def save_smollm2(folder):
    """Widened by transformers and saved in bfloat16, as a published model; returns the ids of TEXT."""
    where = dict(pretrained_model_name_or_path=os.path.dirname(SMOLLM2), gguf_file=os.path.basename(SMOLLM2))
    t = transformers.AutoTokenizer.from_pretrained(**where)
    read = transformers.AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    read.config.__dict__.pop("quantization_config", None)
    model = transformers.AutoModelForCausalLM.from_config(read.config)
    model.load_state_dict(read.state_dict(), strict=False)
    model.to(torch.bfloat16).save_pretrained(folder, max_shard_size="100MB")
    t.save_pretrained(folder)
    return t(TEXT, add_special_tokens=False).input_ids


def ids_native(folder):
    servelab = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
    p = subprocess.run([servelab, "model", "tokenize", "--model", folder, "--json", TEXT], stdout=subprocess.PIPE, text=True)
    return json.loads(p.stdout or "{}").get("ids")


def difference(a, b):
    if len(a) != len(b) or any(len(x) != len(y) for x, y in zip(a, b)):
        return float("inf")
    most = max(abs(v) for row in b for v in row)
    return max(abs(x - y) if x == x else float("inf") for p, q in zip(a, b) for x, y in zip(p, q)) / most


def main():
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    write, golden, n, failed = sys.argv[1:] == ["--write"], {}, 0, 0
    old = {} if write else json.load(open(GOLDEN))["logits"]
    with tempfile.TemporaryDirectory() as tmp:
        for name in small_folder.VARIANTS:
            folder, ids = os.path.join(tmp, name), small_folder.tokens(name)
            small_folder.write(folder, name)
            want = logits_hf(folder, ids)
            golden[name] = [[float("%.7g" % v) for v in want[p]] for p in small_folder.POSITIONS]
            got, why = logits_native(folder, ids)
            for what, error, most in (("native", difference(got, want), NATIVE),
                                      ("golden", 0 if write else difference(golden[name], old.get(name, [])), AGAIN)):
                n, failed = n + 1, failed + (error > most)
                print(f"{'not ' if error > most else ''}ok {n} - {name}: {what} differs by {error:.1e} of the greatest logit"
                      + (f"; {why}" if why else ""))
    if os.path.exists(SMOLLM2):
        with tempfile.TemporaryDirectory() as folder:
            ids = save_smollm2(folder)
            error = difference(logits_native(folder, ids)[0], logits_hf(folder, ids))
            for ok, what in ((ids_native(folder) == ids, f"{len(ids)} ids"), (error <= NATIVE, f"native differs by {error:.1e}")):
                n, failed = n + 1, failed + (not ok)
                print(f"{'' if ok else 'not '}ok {n} - SmolLM2 as a folder: {what}")
    else:
        n += 1
        print(f"ok {n} - SmolLM2 as a folder # SKIP make model has not brought it")
    print(f"1..{n}")
    if write:
        rows = ",\n".join(f'"{k}": [\n' + ",\n".join(json.dumps(row) for row in v) + "]" for k, v in golden.items())
        os.makedirs(os.path.dirname(GOLDEN), exist_ok=True)
        with open(GOLDEN, "w") as f:
            f.write('{"schema": "servelab.golden-folders.v1",\n"made_by": "check_folders_hf.py --write, transformers '
                    f'{transformers.__version__}, torch {torch.__version__.split("+")[0]}, float32",\n"logits": {{\n{rows}}}}}\n')
    return 1 if failed else 0


sys.exit(main())
