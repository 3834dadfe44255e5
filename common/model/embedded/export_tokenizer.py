"""export_tokenizer.py: the vocabulary as a Hugging Face folder.

    python export_tokenizer.py [FOLDER]        # tokenizer/ beside this file

`transformers` then gives the ids of vocab.py, with <|bos|> first. `servelab model tokenizer` writes the same from the
GGUF; common/model/tests/test_hf_folder.py compares the two.

Not here: the GGUF (export_gguf.py).
"""

import json
import os
import sys

import vocab

CONTEXT_TOKENS = 2048 + 256  # as in export_gguf.py
# The contents of the messages and nothing else. transformers adds no bos to a rendered template, so it is written.
CHAT_TEMPLATE = "{{ bos_token }}{% for message in messages %}{{ message['content'] }}{% endfor %}"


def added_token(name):
    return {"id": vocab.TOKEN_ID[name], "content": name, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": False, "special": True}


def tokenizer():
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    bos, text = {"SpecialToken": {"id": vocab.BOS, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
    second = [{"SpecialToken": {"id": vocab.BOS, "type_id": 1}}, {"Sequence": {"id": "B", "type_id": 1}}]
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added_token(vocab.BOS), added_token(vocab.EOS)],
        "normalizer": None, "pre_tokenizer": byte_level,
        "post_processor": {
            "type": "TemplateProcessing", "single": [bos, text], "pair": [bos, text] + second,
            "special_tokens": {vocab.BOS: {"id": vocab.BOS, "ids": [vocab.BOS_ID], "tokens": [vocab.BOS]}}},
        "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": vocab.TOKEN_ID, "merges": [f"{a} {b}" for a, b in vocab.MERGES]}}


def files():
    """The JSON of each file by its name."""
    special = {"bos_token": vocab.BOS, "eos_token": vocab.EOS}
    return {"tokenizer.json": tokenizer(), "special_tokens_map.json": special,
            "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", **special,
                                      "clean_up_tokenization_spaces": False, "model_max_length": CONTEXT_TOKENS,
                                      "chat_template": CHAT_TEMPLATE}}


def main():
    folder = sys.argv[1] if sys.argv[1:] else os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizer")
    os.makedirs(folder, exist_ok=True)
    for name, content in files().items():
        with open(os.path.join(folder, name), "w") as f:
            json.dump(content, f)
            f.write("\n")


if __name__ == "__main__":
    main()
