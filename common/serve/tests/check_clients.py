#!/usr/bin/env python3
"""check_clients.py: clients that people measure and build with, unmodified: each must complete 50 of 50 requests.

`make check-clients` installs them, with their versions pinned, into build/venv-clients and build/venv-clients-torch
(common/setup/requirements-clients*.txt). One that is not there is a skip. Each client talks to a `servelab serve` of its
own with the embedded model. Its own report must say 50 completed, and the server's log must have no failed request.
The requests that these clients send are replayed without them in test_client_shapes.py.
"""
# servelab-test: waits long
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from harness import TOP, RealServer, equal  # noqa: E402

N = 50
CLIENTS, TORCH = (os.path.join(TOP, "build", v, "bin") for v in ("venv-clients", "venv-clients-torch"))
OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "ERROR"}
TIMEOUT_S = 300
TOKENIZER = os.path.join(TOP, "common/model/embedded/tokenizer")


def command(args, cwd, env=()):
    out = subprocess.run(args, cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S, env={**os.environ, **dict(env)})
    assert out.returncode == 0, f"exit status {out.returncode}: {(out.stderr or out.stdout)[-1500:]}"
    return out.stdout


def url(s):
    return f"http://127.0.0.1:{s.port}"


def load(path):
    with open(path) as f:
        return json.load(f)


# ---- the clients: each returns how many requests it says it completed ------------------------------------------------


def of_python(name):
    def run(s, tmp):
        out = command([f"{CLIENTS}/python", os.path.join(HERE, "real_clients.py"), url(s) + "/v1", s.model, name, str(N)], tmp)
        equal(out.split()[-4:][0], "completed", out)
        done, asked = (int(out.split()[i]) for i in (-3, -1))
        return done // (asked // N)
    return run


def llm(s, tmp):
    with open(os.path.join(tmp, "extra-openai-models.yaml"), "w") as f:
        for name, more in (("chat", ""), ("text", "  completion: true\n")):
            f.write(f"- model_id: {name}\n  model_name: {s.model}\n  api_base: {url(s)}/v1\n{more}")
    for i in range(N):  # half of them through each route
        out = command([f"{CLIENTS}/llm", "-m", ("chat", "text")[i % 2], "--key", "none", "-o", "max_tokens", "8", f"{i}+30="], tmp,
                      {"LLM_USER_PATH": tmp})
        assert out.strip(), f"the answer of request {i} is empty"
    return N


def aiperf(kind, *flags):
    def run(s, tmp):
        command([f"{CLIENTS}/aiperf", "profile", "-m", s.model, "--url", url(s), "--endpoint-type", kind, "--streaming",
                 "--tokenizer", TOKENIZER, "--concurrency", "4", "--request-count", str(N), "--isl", "32", "--osl", "8", "--ui", "none",
                 "--extra-inputs", "ignore_eos:true", "--artifact-dir", os.path.join(tmp, "out"), *flags],
                tmp, {"HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": ""})  # offline it takes no folder for a tokenizer
        return int(load(os.path.join(tmp, "out/profile_export_aiperf.json"))["request_count"]["avg"])
    return run


def lm_eval(model, route, output_type, *flags):
    def run(s, tmp):
        with open(os.path.join(tmp, "data.jsonl"), "w") as f:
            f.writelines(json.dumps({"q": f"{i}+30=", "a": str(i + 30)}) + "\n" for i in range(N))
        task = {"task": "sums", "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": os.path.join(tmp, "data.jsonl")}},
                "test_split": "test", "output_type": output_type, "doc_to_text": "{{q}}", "doc_to_target": "{{a}}",
                "target_delimiter": "", "metric_list": [{"metric": "exact_match" if output_type == "generate_until" else "acc"}]}
        if output_type == "generate_until":
            task["generation_kwargs"] = {"until": ["\n"], "max_gen_toks": 8, "do_sample": False}
        with open(os.path.join(tmp, "sums.yaml"), "w") as f:
            json.dump(task, f)  # JSON is YAML
        command([f"{CLIENTS}/lm_eval", "--model", model, "--tasks", "sums", "--include_path", tmp, "--output_path",
                 os.path.join(tmp, "out"), "--model_args", f"model={s.model},base_url={url(s)}/v1/{route},tokenizer={TOKENIZER},"
                 "tokenized_requests=False,max_retries=1", *flags], tmp, OFFLINE)
        return load(glob.glob(os.path.join(tmp, "out/**/results*.json"), recursive=True)[0])["n-samples"]["sums"]["effective"]
    return run


def guidellm(route):
    def run(s, tmp):
        command([f"{TORCH}/guidellm", "run", "--backend", f"kind=openai_http,target={url(s)},model={s.model},request_format={route}",
                 "--profile", "kind=concurrent,streams=4", "--constraint", f"kind=max_requests,count={N}",
                 "--tokenizer", f"kind=hf_auto,model={TOKENIZER}", "--data", "kind=synthetic_text,prompt_tokens=32,output_tokens=8",
                 "--output", "kind=json,path=out.json", "--disable-progress"], tmp, OFFLINE)
        return load(os.path.join(tmp, "out.json"))["benchmarks"][0]["metrics"]["request_totals"]["successful"]
    return run


def vllm_bench(backend, route):
    def run(s, tmp):
        command([f"{TORCH}/vllm", "bench", "serve", "--backend", backend, "--base-url", url(s), "--endpoint", "/v1/" + route,
                 "--model", s.model, "--tokenizer", TOKENIZER, "--dataset-name", "random", "--random-input-len", "32",
                 "--random-output-len", "8", "--num-prompts", str(N), "--seed", "3", "--max-concurrency", "4", "--disable-tqdm",
                 "--save-result", "--result-filename", "out.json"], tmp, OFFLINE)
        return load(os.path.join(tmp, "out.json"))["completed"]
    return run


# ---- name, the package that must be there, the run -------------------------------------------------------------------

TESTS = [
    ("openai, sync", (CLIENTS, "openai"), of_python("openai_sync")),
    ("openai, async", (CLIENTS, "openai"), of_python("openai_async")),
    ("litellm", (CLIENTS, "litellm"), of_python("litellm")),
    ("langchain-openai, chat and completions", (CLIENTS, "langchain_openai"), of_python("langchain")),
    ("llm, chat and completions", (CLIENTS, "llm"), llm),
    ("aiperf, chat", (CLIENTS, "aiperf"), aiperf("chat", "--use-server-token-count", "--per-chunk-usage")),
    ("aiperf, completions", (CLIENTS, "aiperf"), aiperf("completions")),
    ("lm-eval, chat", (CLIENTS, "lm_eval"), lm_eval("local-chat-completions", "chat/completions", "generate_until",
                                                    "--apply_chat_template")),
    ("lm-eval, completions", (CLIENTS, "lm_eval"), lm_eval("local-completions", "completions", "generate_until")),
    ("lm-eval, completions with log-probabilities", (CLIENTS, "lm_eval"),
     lm_eval("local-completions", "completions", "loglikelihood")),
    ("guidellm, chat", (TORCH, "guidellm"), guidellm("/v1/chat/completions")),
    ("guidellm, completions", (TORCH, "guidellm"), guidellm("/v1/completions")),
    ("vllm bench serve, completions", (TORCH, "vllm"), vllm_bench("openai", "completions")),
    ("vllm bench serve, chat", (TORCH, "vllm"), vllm_bench("openai-chat", "chat/completions")),
]


def check(run):
    with tempfile.TemporaryDirectory() as tmp:
        log = os.path.join(tmp, "records.jsonl")
        with RealServer("--log", log, "--record-grace-ms", "0") as s:
            done = run(s, tmp)
        with open(log) as f:
            bad = [r for r in map(json.loads, f) if r["outcome"]["http_status"] != 200]
        equal(bad, [], "the server's records of failed requests:")
        equal(done, N, "completed")


def main():
    failed = 0
    wanted = os.environ.get("TEST_CASE", "")
    chosen = [t for t in TESTS if wanted in t[0]]
    for number, (name, (venv, package), run) in enumerate(chosen, 1):
        if not glob.glob(f"{venv}/../lib/python3*/site-packages/{package}"):
            print(f"ok {number} - {name} # SKIP the package {package} isn't installed", flush=True)
            continue
        try:
            check(run)
            print(f"ok {number} - {name}: {N} of {N}", flush=True)
        except Exception as e:  # an assertion, a time-out, or what the client did: all are its failure
            failed += 1
            print(f"not ok {number} - {name}", flush=True)
            print(f"{name}: {type(e).__name__}: {e}", file=sys.stderr)
    print(f"1..{len(chosen)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
