#!/usr/bin/env python3
"""test_folder_model.py: the server, the quality command and the native backend take a Hugging Face folder as they take a
GGUF file: the same model in both forms gives the same answers.
"""
import json, os, subprocess, sys, tempfile

from harness import SERVELAB, TOP, RealServer, equal, run_tests

sys.path.insert(0, os.path.join(TOP, "common", "model", "tests"))
import small_folder, small_gguf
import test_tokenizer_folders as tokenizers

TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def ask(s):
    r = s.post("/v1/completions", {"model": s.model, "prompt": "the server", "max_tokens": 12, "temperature": 0,
                                   "logprobs": 1, "ignore_eos": True})
    equal(r.status, 200, f"status ({r.body})")
    j = r.json()
    chat = s.post("/v1/chat/completions", {"model": s.model, "messages": [{"role": "user", "content": "the server"}],
                                           "max_tokens": 3, "temperature": 0, "ignore_eos": True})
    equal(chat.status, 200, f"status of the chat ({chat.body})")
    return j["usage"]["prompt_tokens"], j["choices"][0]["text"], chat.json()["choices"][0]["message"]["content"]


def both_forms_answer_alike():
    golden = tokenizers.read_golden()
    pieces = golden[tokenizers.SENTENCEPIECE]["pieces"]
    small_folder.VOCAB = len(pieces)  # random weights for as many tokens
    with tempfile.TemporaryDirectory() as tmp:
        folder, file, vocabulary = (os.path.join(tmp, n) for n in ("mistral", "model.gguf", "vocab.gguf"))
        small_folder.write(folder, "mistral_v01")
        small_folder.write_json(folder, "tokenizer.json", golden["folders"]["spm-each"]["tokenizer"])
        small_folder.write_json(folder, "tokenizer_config.json", {"bos_token": "<s>", "eos_token": "</s>", "chat_template": TEMPLATE})
        extra = tokenizers.vocabulary_keys(pieces) + [small_gguf.key("tokenizer.chat_template", 8, small_gguf.text(TEMPLATE))]
        small_folder.write_gguf(file, "mistral_v01", extra)
        with RealServer(model_file=folder) as a, RealServer(model_file=file) as b:
            equal(a.model, "mistral", "the folder's model name")
            got, want = ask(a), ask(b)
            equal(got, want, "answers of the folder and of the file")
            assert got[0] > 2 and len(got[1]) > 4, got
        out = subprocess.run([SERVELAB, "serve", "--port", "0", "--model", os.path.join(tmp, "nothing")], capture_output=True, text=True)
        equal((out.returncode, out.stderr.count("\n")), (2, 1), out.stderr)


sys.exit(run_tests([both_forms_answer_alike]))
