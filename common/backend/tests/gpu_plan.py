#!/usr/bin/env python3
"""gpu_plan.py: what `make gpu-check` runs: every check and measurement of a GPU, step by step, in under 8 minutes.

Each step has a budget in seconds, which is also its limit. A step that fails or runs out of time doesn't stop the others.
build/gpu/gpu-check.json is written anew after every line of a step, so that an interruption loses nothing.

  {"schema": "servelab.gpu-check.v1", "dry": false, "started_utc", "seed", "roof": {...}, "steps": [{"name", "budget_s", "wall_s",
   "status": "ok" | "failed" | "out of time" | "left out", "why"}], "figures": [...], "counters": [...], "targets": [...],
   "left_out": [...], "torch"}

A figure has "name" and "dry". A time has "s" (the median), "least_s", "greatest_s", "bound_s", "bound_by" and "of_bound": the
time that the card's own copy bandwidth and matrix rate allow for the figure's bytes and operations, over its own. A check has
"right" and "of_tolerance". The served load is in build/gpu/load, a run as `servelab report` reads it.

DRY=1 walks the same plan on the CPU, on small shapes: the CUDA source through simtcc, a replacement of driver, NVML and ncu. Its
numbers mean nothing: each is marked as dry, none is printed, and the records of its load say "dry run" where a record names
a simulated machine, so that no report takes them for measurements.

SEED=N: of the random data (drawn anew each time; printed). TORCH_PYTHON: a Python that has torch and transformers. On a dry run
"stub", or a machine without torch where TORCH_PYTHON is not set, takes fake_torch: the step is walked, and nothing is computed.
"torch" in the results says which it was: "absent", "stub", or torch's version.

Exit status: 0 all right, 1 a step failed, 2 no GPU or something is missing (and how to get it), 130 interrupted.
"""
import datetime
import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "../../.."))
SERVELAB = os.environ.get("SERVELAB", os.path.join(TOP, "build/bin/servelab"))
LAB = os.environ.get("KERNELS_DIR", "solutions/03_kernels")
DRY = os.environ.get("DRY") == "1"
OUT = os.path.join(TOP, "build/gpu-dry" if DRY else "build/gpu")
DRY_LABEL = "dry run, CUDA on the CPU"  # where a record names a simulated machine; report_limits.c knows its beginning
# a dry run has no haste; a test shortens the limits
PATIENCE = float(os.environ.get("GPU_CHECK_PATIENCE", "20" if DRY else "1"))
SHAPE = "synthetic:mistral-7b"  # grouped heads: 64 sequences of 2,048 tokens fit beside it on an 80 GiB card
TINY = os.path.join(TOP, "common/model/embedded/servelab-tiny.gguf")

state = {"schema": "servelab.gpu-check.v1", "dry": DRY, "roof": None, "steps": [], "figures": [], "counters": [], "left_out": [],
         "torch": None}
forms = {}  # of the model step: the closed forms of a prompt and of one more token of the served load
running = None  # the process of the step that runs


class Failed(Exception):
    """Why a step failed."""


class LeftOut(Exception):
    """Why a step isn't possible here."""


# ---- results ---------------------------------------------------------------------------------------------------------


def save():
    path = os.path.join(OUT, "gpu-check.json")
    with open(path + ".new", "w", encoding="utf-8") as f:
        json.dump(state, f, indent=1)
        f.write("\n")
    os.replace(path + ".new", path)


def bound_of(form):
    """The least time for the bytes and operations of a line, by the roof; (None, why) where there is none."""
    roof = state["roof"]
    if not roof:
        return None, "the roof was not measured"
    if "bytes" not in form:
        return None, "the model step gave no closed form"
    rate = roof[form["type"] + "_operations_s"]
    by_bytes = form["bytes"] / roof["copy_bytes_s"]
    by_operations = form["operations"] / rate if rate else 0
    return (by_bytes, "copy bandwidth") if by_bytes >= by_operations else (by_operations, form["type"] + " products")


def keep_figure(figure, form=None):
    """form: the line with the bytes and operations, if it is another one."""
    figure["dry"] = DRY
    if "s" in figure:
        figure["bound_s"], figure["bound_by"] = bound_of(form or figure)
        if figure["bound_s"] is not None and figure["s"]:
            figure["of_bound"] = figure["bound_s"] / figure["s"]
    state["figures"].append(figure)
    save()


def add_figure(figure, form=None):
    keep_figure(figure, form)
    show(figure)


def show(figure):
    words = [f"  {figure['name']:44s}"]
    if "right" in figure:
        used = 100 * figure.get("of_tolerance", float("inf"))  # absent: not finite
        words.append(f"{'right' if figure['right'] else 'WRONG'} {used:5.0f} % of tolerance")
    if "s" in figure or "value" in figure:
        words.append(measured(figure))
    print("  ".join(words), flush=True)


def measured(figure):
    if DRY:
        return "dry run, not a measurement"
    if "value" in figure:
        return f"{figure['value']:.4g} {figure['unit']}"
    text = f"{1e3 * figure['s']:.3f} ms"
    if "of_bound" in figure:
        text += f", {100 * figure['of_bound']:.0f} % of the bound by {figure['bound_by']} ({1e3 * figure['bound_s']:.3f} ms)"
    return text


# ---- processes -------------------------------------------------------------------------------------------------------


def environment(**more):
    env = {**os.environ, "SERVELAB": SERVELAB, **more}
    if not DRY:  # the plug-in lies beside servelab, not beside the check's programs; cuBLAS with the toolkit
        env.setdefault("SERVELAB_CUDA", os.path.join(os.path.dirname(SERVELAB), "backend-cuda.so"))
        libraries = os.path.join(os.path.dirname(os.path.realpath(shutil.which("nvcc") or "nvcc")), "../lib64")
        env["LD_LIBRARY_PATH"] = ":".join(filter(None, [env.get("LD_LIBRARY_PATH"), libraries]))
    else:
        fake = os.path.join(OUT, "libfakecuda.so")
        nvml = "/nonexistent/libnvidia-ml.so" if os.environ.get("NO_NVML") else fake
        env.update(SERVELAB_LIBCUDA=fake, SERVELAB_LIBCUBLAS=fake, SERVELAB_LIBNVML=nvml,
                   SERVELAB_CUDA=os.path.join(os.path.dirname(SERVELAB), "backend-simt.so"))
    return env


def end(process):
    """The process and what it started."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, how)
            process.wait(5)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue
        break


def lines_of(args, deadline, env=None):
    """The lines of a program's output as they come. Failed: it ended badly, or the step's time is over."""
    global running
    with tempfile.TemporaryFile("w+") as errors:
        running = subprocess.Popen(args, cwd=TOP, env=env or environment(), stdout=subprocess.PIPE, stderr=errors,
                                   start_new_session=True)
        rest = b""
        try:
            while True:
                ready, _, _ = select.select([running.stdout], [], [], max(0, deadline - time.monotonic()))
                if not ready:
                    raise Failed("out of time")
                got = os.read(running.stdout.fileno(), 65536)
                whole = (rest + got).split(b"\n")
                rest = whole.pop() if got else b""
                for line in whole:
                    if line:
                        yield line.decode(errors="replace")
                if not got:
                    break
            status = running.wait(max(1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise Failed("out of time") from None
        finally:
            end(running)
            running = None
        errors.seek(0)
        said = errors.read().strip()
    if status:
        raise Failed(f"{os.path.basename(args[0])}: {said.splitlines()[-1] if said else f'exit status {status}'}")


def tool(name):
    return os.path.join(OUT, name)


def read_lines(args, deadline, env=None):
    """JSON lines of a tool; each is kept as it comes. The closed forms that it printed, by name."""
    found = {}
    for line in lines_of(args, deadline, env):
        got = json.loads(line)
        if "form" in got:
            found[got["form"]] = got
        elif "left_out" in got:
            state["left_out"].append(got["left_out"])
        else:
            add_figure(got)
    return found


def wrong_ones(names):
    wrong = [f["name"] for f in state["figures"] if f["name"].startswith(names) and f.get("right") is False]
    if wrong:
        raise Failed("wrong: " + ", ".join(wrong))


# ---- the steps -------------------------------------------------------------------------------------------------------


def build(deadline):
    for _ in lines_of(["bash", os.path.join(HERE, "gpu_check.sh"), "device"], deadline):
        pass


def check_kernels(deadline, *flags):
    """gpu_check prints its table; its figures come by a file, and are read while it runs."""
    path = tool("lines.json")
    if os.path.exists(path):
        os.remove(path)
    open(path, "w", encoding="utf-8").close()
    args = [tool("gpu_check"), OUT, os.path.join(LAB, "launch.json"), "--json", path, *flags] + (["--small"] if DRY else [])
    with open(path, encoding="utf-8") as f:
        failed = None
        try:
            for line in lines_of(args, deadline):
                print(line, flush=True)
                take_kernel_lines(f)
        except Failed as e:
            failed = e
        take_kernel_lines(f)
    if failed:
        raise failed


def take_kernel_lines(f):
    for line in f:
        got = json.loads(line)
        if "roof" in got:
            state["roof"] = {**got["roof"], "dry": DRY}
            save()
        else:
            keep_figure(got)


def roof(deadline):
    check_kernels(deadline, "--roof")
    if not state["roof"]["bf16_operations_s"]:
        raise Failed("cuBLAS is not found (libcublas.so), so there is no matrix rate; its folder belongs into LD_LIBRARY_PATH")


def kernels(deadline):
    check_kernels(deadline, "--seed", str(state["seed"]))
    wrong_ones("kernel ")


def agree(deadline):
    """The backend and the native backend, on random weights, tokens and blocks."""
    for shape in ("smollm2-135m/8", "qwen2.5-7b/64") if DRY else ("smollm2-135m/2", "qwen2.5-7b/16", "llama-2-7b/16"):
        try:
            read_lines([tool("gpu_model"), "agree", "synthetic:" + shape, str(state["seed"])], deadline)
        except Failed:
            wrong_ones("logits ")
            raise


def model(deadline):
    args = [TINY, "32", "1", "2", "4"] if DRY else [SHAPE, "2048", "1", "8", "64"]
    forms.update(read_lines([tool("gpu_model"), "time", *args], deadline))


def served(deadline):
    """A Poisson load, its report, and what the GPU's energy counter says."""
    with tempfile.TemporaryDirectory(dir=OUT) as work:
        weights = [] if DRY else ["--synthetic-weights", SHAPE.split(":")[1]]
        # a server of the CUDA backend alone: `auto` would go on with the CPU
        with open(f"{work}/stderr", "w", encoding="utf-8") as said:
            server = subprocess.Popen([SERVELAB, "serve", "--backend", "cuda", "--port", "0", "--port-file", f"{work}/port",
                                       "--max-batch", "8" if DRY else "64", "--context", "256" if DRY else "2560", *weights],
                                      cwd=TOP, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said,
                                      start_new_session=True)
        try:
            while not os.path.exists(f"{work}/port"):
                if server.poll() is not None:
                    with open(f"{work}/stderr", encoding="utf-8") as f:
                        raise Failed((f.read().strip().splitlines() or ["the server ended"])[-1])
                if time.monotonic() > deadline:
                    raise Failed("out of time")
                time.sleep(0.05)
            with open(f"{work}/port", encoding="utf-8") as f:
                port = f.read().strip()
            load(f"http://127.0.0.1:{port}", f"{work}/load", deadline)
        finally:
            end(server)
        with open(f"{work}/stderr", encoding="utf-8") as f:
            no_joules = next((line.split("no joules: ")[1].strip() for line in f if "no joules: " in line), None)
    report(deadline, no_joules)


def load(url, work, deadline):
    size = ["--rate-rps", "4", "--requests", "8", "--prompt-tokens", "24", "--output-tokens", "4"] if DRY else \
        ["--rate-rps", "8", "--duration-s", "40", "--prompt-tokens", "512", "--output-tokens", "128"]
    args = [SERVELAB, "load", "--url", url, "--arrivals", "poisson", "--out", work, "--json", "--seed", str(state["seed"]), *size]
    try:
        for _ in lines_of(args, deadline):
            pass
    finally:  # what was seen is kept; of a dry run only what is marked
        if os.path.exists(work + "/run.json"):
            if DRY:
                mark_dry(work)
            shutil.rmtree(tool("load"), ignore_errors=True)
            shutil.move(work, tool("load"))


def mark_dry(run):
    """Every record, and the run, name the dry run where a simulated machine would stand."""
    with open(run + "/run.json", encoding="utf-8") as f:
        tree = json.load(f)
    with open(run + "/records.jsonl", encoding="utf-8") as f:
        records = [json.loads(line) for line in f]
    tree["paced"] = DRY_LABEL
    for r in records:
        r["workload"]["paced"] = DRY_LABEL
    with open(run + "/run.json", "w", encoding="utf-8") as f:
        json.dump(tree, f)
    with open(run + "/records.jsonl", "w", encoding="utf-8") as f:
        f.writelines(json.dumps(r) + "\n" for r in records)


def report(deadline, no_joules):
    got = subprocess.run([SERVELAB, "report", tool("load"), "--objective", os.path.join(HERE, "gpu_objective.json"), "--json"],
                         cwd=TOP, capture_output=True, text=True, timeout=max(1, deadline - time.monotonic()))
    if got.returncode not in (0, 1):  # the objective is met or not
        raise Failed("servelab report: " + got.stderr.strip())
    point = json.loads(got.stdout)["points"][0]
    if (point["times"] != "measured") != DRY:
        raise Failed(f"the report takes the run's times for {point['times']}")
    if not point["run_valid"]:
        raise Failed("the load is invalid: " + "; ".join(point["run_invalid_reasons"]))
    for interval, percentile, form in (("client_ttft", "p50", "prompt"), ("client_ttft", "p99", "prompt"),
                                       ("tpot", "p50", "token"), ("tpot", "p99", "token")):
        ns = point["latency"][interval][percentile]["ns"]
        if ns is None:
            raise Failed(f"{percentile} of {interval} is not there: a request failed")
        add_figure({"name": f"served, {percentile} {interval}", "s": ns / 1e9}, forms.get(form))
    add_figure({"name": "served, output tokens", "value": point["rates"]["output_tokens_per_s"], "unit": "tokens/s"})
    joules(no_joules)


def joules(no_joules):
    with open(tool("load/records.jsonl"), encoding="utf-8") as f:
        each = [(json.loads(line).get("resources") or {}).get("joules") for line in f]
    known = [j for j in each if j is not None]
    if known:
        add_figure({"name": "served, joules per response", "value": sum(known) / len(known), "unit": "J"})
    else:
        state["left_out"].append("joules per response: " + (no_joules or "no record states them"))


def torch(deadline):
    """transformers on the same card, shape and run."""
    named = os.environ.get("TORCH_PYTHON")
    python, env = named or sys.executable, environment()
    asked = None
    if named != "stub":
        asked = subprocess.run([python, "-c", "import torch, transformers; print(torch.__version__)"], capture_output=True, text=True)
    state["torch"] = asked.stdout.strip() if asked and not asked.returncode else "absent"
    if DRY and (named == "stub" or not named and state["torch"] == "absent"):
        state["torch"], python = "stub", sys.executable
        env["PYTHONPATH"] = os.path.join(HERE, "fake_torch")
    print(f"  torch: {state['torch']}{', which walks the step and computes nothing' if state['torch'] == 'stub' else ''}", flush=True)
    if state["torch"] == "absent":
        raise LeftOut(f"{python} has no torch with transformers; TORCH_PYTHON names another Python")
    left = str(int(deadline - time.monotonic()))
    args = ["cpu", "tiny", "32", left, "1", "2"] if DRY else ["cuda", "mistral-7b", "2048", left, "1", "8", "64"]
    read_lines([python, os.path.join(HERE, "gpu_torch.py"), *args], deadline, env)


def counters(deadline):
    ncu = os.path.join(HERE, "fake_ncu.sh") if DRY else shutil.which("ncu")
    if not ncu:
        raise LeftOut("ncu (Nsight Compute) is not installed")
    for _ in lines_of(["bash", os.path.join(HERE, "gpu_check.sh"), "counters"], deadline):
        pass
    env = environment(**({"ONLY": "copy"} if DRY else {}))
    library = tool("libfakecuda_check.so")
    for line in lines_of([sys.executable, os.path.join(HERE, "gpu_counters.py"), tool("gpu_check"), OUT,
                          os.path.join(LAB, "launch.json"), library, ncu], deadline, env):
        print(line, flush=True)
        words = line.split()
        if len(words) >= 4 and words[0] != "kernel":
            state["counters"].append({"kernel": words[0], "counter": words[1], "ours": int(words[2]),
                                      "ncu": None if words[3] == "-" else int(words[3]), "dry": DRY})
            save()


# name, budget in seconds. In order: the roof is first, because all else is measured by it.
PLAN = [(build, 120), (roof, 10), (kernels, 40), (agree, 25), (model, 85), (served, 90), (torch, 80), (counters, 25)]
assert sum(budget for _, budget in PLAN) < 480, "the plan takes under 8 minutes"


# ---- targets ----------------------------------------------------------------------------------------------------------

TARGETS = [  # what, the figure's beginning, at least this share of its bound
    ("decode alone", "decode, batch 1 behind", 0.85),
    ("prefill", "prefill of", 0.65),
    ("paged decode attention", "kernel attention_decode", 0.80),
]
FASTER = 3  # times as fast as transformers in eager mode, each batch


def note_targets():
    """Beside what the plan asks of a card; they don't decide about the exit status."""
    first = {}
    for f in state["figures"]:
        first.setdefault(f["name"], f)

    def add(what, wanted, got):
        state["targets"].append({"what": what, "wanted": wanted, "got": got, "met": None if got is None else got >= wanted, "dry": DRY})

    state["targets"] = []
    for what, name, wanted in TARGETS:
        add(what + ", of its bound", wanted, next((f.get("of_bound") for n, f in first.items() if n.startswith(name)), None))
    for name, f in first.items():
        eager = first.get("transformers " + name)
        if name.startswith("decode, batch"):
            add(name + ", times transformers' eager speed", FASTER, eager["s"] / f["s"] if eager else None)
    for t in state["targets"]:
        got = "not measured" if DRY or t["got"] is None else f"{t['got']:.2f}, {'met' if t['met'] else 'missed'}"
        print(f"target {t['what']}, at least {t['wanted']}: {got}")


# ---- all of it -------------------------------------------------------------------------------------------------------


def run_step(step, budget):
    entry = {"name": step.__name__, "budget_s": budget, "wall_s": None, "status": "running", "why": None}
    state["steps"].append(entry)
    save()
    print(f"{step.__name__} (at most {budget} s)", flush=True)
    start = time.monotonic()
    try:
        step(start + budget * PATIENCE)
        entry["status"] = "ok"
    except LeftOut as e:
        entry.update(status="left out", why=str(e))
    except (Failed, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as e:
        why = str(e) if isinstance(e, (Failed, OSError)) else f"{type(e).__name__}: {e}"
        entry.update(status="out of time" if why == "out of time" else "failed", why=why)
    entry["wall_s"] = round(time.monotonic() - start, 3)
    save()
    if entry["status"] != "ok":
        print(f"  {entry['status']}{': ' + entry['why'] if entry['why'] != entry['status'] else ''}", flush=True)
    return entry["status"] in ("ok", "left out")


def stop(signum, _):
    raise KeyboardInterrupt(signum)


def prepare():
    """The programs, and whether there is a device. Nothing else runs, and no file is written, without one."""
    os.makedirs(OUT, exist_ok=True)
    built = subprocess.run(["bash", os.path.join(HERE, "gpu_check.sh"), "host"], cwd=TOP)
    if built.returncode:
        sys.exit(built.returncode)
    there = subprocess.run([tool("gpu_check"), OUT, os.path.join(LAB, "launch.json"), "--probe"], cwd=TOP, env=environment())
    if there.returncode:
        sys.exit(2)
    if not DRY and not shutil.which("nvcc"):
        print("gpu-check: nvcc is not installed; it comes with the CUDA toolkit (DRY=1 needs none)", file=sys.stderr)
        sys.exit(2)


def main():
    signal.signal(signal.SIGTERM, stop)
    prepare()
    state["started_utc"] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    state["seed"] = int(os.environ.get("SEED") or secrets.randbits(31))
    print(f"gpu-check: SEED={state['seed']}{'; a dry run: nothing is measured' if DRY else ''}", flush=True)
    only = os.environ.get("ONLY_STEPS", "").split()
    bad = 0
    try:
        for step, budget in PLAN:
            if not only or step.__name__ in only:
                bad += not run_step(step, budget)
    except KeyboardInterrupt:
        if running:
            end(running)
        if state["steps"] and state["steps"][-1]["status"] == "running":
            state["steps"][-1]["status"] = "interrupted"
        save()
        print(f"gpu-check: interrupted; what was found is in {os.path.relpath(OUT, TOP)}/gpu-check.json", file=sys.stderr)
        return 130
    state["left_out"] += [f"{s['name']}: {s['why']}" for s in state["steps"] if s["status"] == "left out"]
    note_targets()
    save()
    for text in state["left_out"]:
        print(f"left out: {text}")
    print(f"{len(state['steps'])} steps, {bad} failed{'; dry run: no figure is a measurement' if DRY else ''}; "
          f"{os.path.relpath(OUT, TOP)}/gpu-check.json")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
