/* fuzz_folder.c: reads any bytes as one file of a small Hugging Face folder, and as a safetensors
 * file in memory: they are refused with a message or read, without a fault. The first byte says
 * which file: c config.json, t tokenizer.json, g tokenizer_config.json, s model.safetensors, i the
 * index (then the weights are in part.safetensors). libFuzzer: as in fuzz_gguf.c.
 */
#include "base/buffer.h"
#include "model/gguf.h"
#include "model/model.h"
#include "model/safetensors.h"
#include "model/tokenizer.h"
#include "testing/fuzz.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static char folder[200];
static struct buffer folder_file[5]; /* what the files hold when they aren't changed */
static const struct {
    char letter;
    const char *name;
} files[] = {{'c', "config.json"},
             {'t', "tokenizer.json"},
             {'g', "tokenizer_config.json"},
             {'s', "model.safetensors"},
             {'i', "model.safetensors.index.json"}};
enum { N_FILES = 5, WEIGHTS = 3, INDEX = 4, VOCAB = 264, D = 4 };
#define PART "part.safetensors"

/* ---- a small folder -------------------------------------------------------------------------- */

static const char config[] =
    "{\"model_type\":\"llama\",\"architectures\":[\"LlamaForCausalLM\"],\"vocab_size\":264,"
    "\"hidden_size\":4,\"intermediate_size\":4,\"num_hidden_layers\":1,\"num_attention_heads\":2,"
    "\"num_key_value_heads\":1,\"max_position_embeddings\":64,\"rms_norm_eps\":1e-5,"
    "\"hidden_act\":\"silu\",\"tie_word_embeddings\":true,\"bos_token_id\":1,\"eos_token_id\":[2],"
    "\"rope_theta\":10000.0,\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8.0,"
    "\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,\"original_max_position_embeddings\":16}}";

static void make_tokenizer(struct buffer *b) {
    buffer_puts(b,
                "{\"added_tokens\":[{\"id\":1,\"content\":\"<s>\",\"special\":true},{\"id\":2,"
                "\"content\":\"</s>\",\"special\":true}],\"normalizer\":{\"type\":\"Sequence\","
                "\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"\xe2\x96\x81\"},{\"type\":"
                "\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"}]},"
                "\"pre_tokenizer\":null,\"post_processor\":{\"type\":\"TemplateProcessing\","
                "\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}},{\"Sequence\":{\"id\":\"A\"}}]},"
                "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"byte_fallback\":true,"
                "\"merges\":[\"a b\",[\"\xe2\x96\x81\",\"a\"]],\"vocab\":{\"<unk>\":0,\"<s>\":1,"
                "\"</s>\":2,\"a\":259,\"b\":260,\"\xe2\x96\x81\":261,\"ab\":258,\"\xe2\x96\x81"
                "a\":257");
    for (int i = 0; i < 256; i++) /* the last bytes share no id with the tokens above */
        buffer_printf(b, ",\"<0x%02X>\":%d", (unsigned)i, i < 254 ? 3 + i : 8 + i);
    buffer_puts(b, "}}}");
}

static void make_weights(struct buffer *b) {
    static const struct {
        const char *name;
        int rows, cols; /* rows 0: a vector */
    } t[] = {{"model.embed_tokens.weight", VOCAB, D},
             {"model.norm.weight", 0, D},
             {"model.layers.0.input_layernorm.weight", 0, D},
             {"model.layers.0.self_attn.q_proj.weight", D, D},
             {"model.layers.0.self_attn.k_proj.weight", 2, D},
             {"model.layers.0.self_attn.v_proj.weight", 2, D},
             {"model.layers.0.self_attn.o_proj.weight", D, D},
             {"model.layers.0.post_attention_layernorm.weight", 0, D},
             {"model.layers.0.mlp.gate_proj.weight", D, D},
             {"model.layers.0.mlp.up_proj.weight", D, D},
             {"model.layers.0.mlp.down_proj.weight", D, D}};
    struct buffer h = {0};
    uint64_t at = 0, n;
    buffer_puts(&h, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        uint64_t bytes = 2 * (uint64_t)(t[i].rows ? t[i].rows : 1) * (uint64_t)t[i].cols;
        buffer_printf(&h, ",\"%s\":{\"dtype\":\"BF16\",\"shape\":[", t[i].name);
        if (t[i].rows) buffer_printf(&h, "%d,", t[i].rows);
        buffer_printf(&h, "%d],\"data_offsets\":[%llu,%llu]}", t[i].cols, (unsigned long long)at,
                      (unsigned long long)(at + bytes));
        at += bytes;
    }
    buffer_puts(&h, "}");
    while (h.n % 8) buffer_puts(&h, " ");
    n = h.n;
    buffer_add(b, (const char *)&n, sizeof n);
    buffer_add(b, h.bytes, h.n);
    for (uint64_t i = 0; i < at; i++) buffer_add(b, "\x3c", 1);
    buffer_release(&h);
}

static void put_file(const char *name, const void *bytes, size_t n) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    INVARIANT(f && fwrite(bytes, 1, n, f) == n && fclose(f) == 0);
}

static void drop_file(const char *name) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

static void clean_up(void) {
    for (int i = 0; i < N_FILES; i++) {
        drop_file(files[i].name);
        buffer_release(&folder_file[i]);
    }
    drop_file(PART);
    rmdir(folder);
}

static void make_folder(void) {
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.150s/servelab-fuzz-XXXXXX", tmp ? tmp : "/tmp");
    INVARIANT(mkdtemp(folder));
    buffer_puts(&folder_file[0], config);
    make_tokenizer(&folder_file[1]);
    buffer_puts(&folder_file[2], "{\"bos_token\":\"<s>\",\"eos_token\":{\"content\":\"</s>\"},"
                                 "\"chat_template\":\"{{ bos_token }}{% for message in messages %}"
                                 "{{ message['content'] }}{% endfor %}\"}");
    make_weights(&folder_file[WEIGHTS]);
    buffer_puts(&folder_file[INDEX], "{\"weight_map\":{\"model.embed_tokens.weight\":\"" PART "\","
                                     "\"model.norm.weight\":\"" PART "\"}}");
    for (int i = 0; i < WEIGHTS; i++)
        put_file(files[i].name, folder_file[i].bytes, folder_file[i].n);
    atexit(clean_up);
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t sum_of(const uint8_t *p, uint64_t n) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) sum += p[i];
    return sum;
}

static void read_alone(const uint8_t *data, size_t size) {
    struct err e = {.text = ""};
    struct safetensors *s = safetensors_from_memory(data, size, &e);
    volatile uint64_t sum = 0;
    INVARIANT(s || e.text[0]);
    for (size_t i = 0; s && i < safetensors_count(s); i++)
        sum += sum_of(safetensors_at(s, i)->data, safetensors_at(s, i)->bytes);
    safetensors_close(s);
}

static void read_folder(void) {
    struct err e = {.text = ""};
    struct gguf *g = gguf_open(folder, &e);
    INVARIANT(g || e.text[0]);
    if (!g) return;
    struct tokenizer *t = tokenizer_create(g, &e);
    INVARIANT(t || e.text[0]);
    int32_t *ids = NULL, n = t ? tokenizer_encode(t, "a b\xff</s>", 8, true, &ids, &e) : 0;
    for (int32_t i = 0; i < n; i++) INVARIANT(ids[i] >= 0 && ids[i] < tokenizer_vocab_size(t));
    free(ids);
    tokenizer_free(t);
    struct model *m = model_from_gguf(g, &e);
    INVARIANT(m || e.text[0]);
    volatile uint64_t sum = 0;
    if (m)
        sum +=
            sum_of(m->embedding.data, (uint64_t)m->embedding.rows *
                                          dtype_row_bytes(m->embedding.dtype, m->embedding.cols));
    model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int which = 0;
    if (!folder[0]) make_folder();
    while (which < N_FILES && (size == 0 || files[which].letter != data[0])) which++;
    if (which == N_FILES) return 0;
    const struct buffer *weights = &folder_file[WEIGHTS];
    if (which == WEIGHTS) read_alone(data + 1, size - 1);
    if (which != WEIGHTS)
        put_file(which == INDEX ? PART : "model.safetensors", weights->bytes, weights->n);
    put_file(files[which].name, data + 1, size - 1);
    read_folder();
    drop_file("model.safetensors");
    drop_file(PART);
    drop_file(files[which].name);
    if (which < WEIGHTS)
        put_file(files[which].name, folder_file[which].bytes, folder_file[which].n);
    return 0;
}
