"""transformers.py: stands in for transformers on a dry run of gpu_torch.py. The model refuses what the real one could not compute:
tokens outside the vocabulary, positions that don't follow the cache, a static cache that is full.

FAKE_TORCH_MEMORY=N: a cache of more than N tokens, all sequences together, is out of memory.
"""
import os

import torch

MEMORY = int(os.environ.get("FAKE_TORCH_MEMORY", "1000000000"))


class LlamaConfig:
    def __init__(self, **values):
        self.__dict__.update(values)


class DynamicCache:
    seen, longest = 0, None


class StaticCache:
    def __init__(self, config, max_cache_len):
        assert isinstance(config, LlamaConfig)
        self.seen, self.longest = 0, max_cache_len


class LlamaForCausalLM:
    def __init__(self, config):
        assert config.hidden_size % config.num_attention_heads == 0
        assert config.num_attention_heads % config.num_key_value_heads == 0
        self.config = config

    def eval(self):
        return self

    def __call__(self, input_ids, past_key_values, position_ids, use_cache, logits_to_keep, compiled=False):
        cache, (rows, tokens) = past_key_values, input_ids.shape
        assert use_cache and logits_to_keep == 1
        assert input_ids.first >= 0 and input_ids.greatest < self.config.vocab_size
        assert position_ids.shape == (rows, tokens) and position_ids.first == cache.seen
        assert position_ids.greatest == cache.seen + tokens - 1 < self.config.max_position_embeddings
        assert not compiled or cache.longest, "a compiled model needs a cache whose size stays"
        cache.seen += tokens
        assert cache.longest is None or cache.seen <= cache.longest
        if rows * cache.seen > MEMORY:
            raise torch.OutOfMemoryError
        return torch.Tensor((rows, logits_to_keep, self.config.vocab_size))
