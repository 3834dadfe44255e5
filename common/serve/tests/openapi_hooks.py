"""openapi_hooks.py: for schemathesis (check_openapi.py): makes the fields of a request that fits /openapi.json agree.

A schema says what each field may be. It can't say what one field demands of another; each line below is one such rule of
openai.c. Requests that shall break the schema are left alone.
"""
import schemathesis

VOCABULARY = 448  # of the embedded model


def least(body, *names):
    return [body[n] for n in names if body.get(n) is not None]


def options_agree(body):
    options = body.get("stream_options")
    if options is not None:
        body["stream"] = True
        if options.get("continuous_usage_stats"):
            options["include_usage"] = True
    if body.get("top_logprobs"):
        body["logprobs"] = True
    if body.get("best_of") is not None:
        body["best_of"] = body["n"]
    if (body.get("response_format") or {}).get("type") == "json_object":
        body.pop("min_tokens", None)
        body.pop("ignore_eos", None)


def lengths_agree(body):
    """Everything is cut, too: prompts fit a context of 2,304 tokens, and no answer takes longer than schemathesis waits."""
    body["n"] = min(body.get("n") or 1, 4)
    if not least(body, "max_tokens", "max_completion_tokens"):
        body["max_tokens"] = 16
    if isinstance(body.get("prompt"), (str, list)):
        body["prompt"] = body["prompt"][:16]
        if isinstance(body["prompt"], list):
            body["prompt"] = [p[:16] if isinstance(p, (str, list)) else p for p in body["prompt"]]
    for name in ("max_tokens", "max_completion_tokens", "min_tokens"):
        if body.get(name) is not None:
            body[name] = min(body[name], 64)
    if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        body["max_completion_tokens"] = body["max_tokens"]
    if body.get("max_tokens") == 0:
        body["echo"] = True
    if body.get("min_tokens") is not None:
        body["min_tokens"] = min([body["min_tokens"], 16] + least(body, "max_tokens", "max_completion_tokens"))
    if body.get("logit_bias"):
        body["logit_bias"] = {str(int(k) % VOCABULARY): v for k, v in body["logit_bias"].items()}


@schemathesis.hook
def before_call(context, case, kwargs):
    positive = case.meta and case.meta.generation.mode.is_positive
    if positive and isinstance(case.body, dict) and case.operation.path.endswith("completions"):
        lengths_agree(case.body)
        options_agree(case.body)
