/* questions.c: generates logs and questions. See questions.h. */
#include "quality/questions.h"

#include "base/rng.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char KEY_LETTERS[] =
    "BCDFGHJKLMNPQRSTVWX"; /* no vowels, so that no key spells a word */
static const char *const LEVELS[] = {"info", "warn", "debug"};
static const char *const SUBJECTS[] = {"worker", "cache", "queue", "disk",
                                       "node",   "net",   "user",  "batch"};
static const char *const VERBS[] = {"read", "write", "sync",  "flush", "load",
                                    "open", "retry", "start", "stop"};
static const char *const STATES[] = {"ok", "done", "slow", "late", "full", "free"};
#define COUNT(a)   (sizeof(a) / sizeof *(a))
#define PICK(r, a) ((a)[rng_below(r, COUNT(a))])

enum {
    KEY_DISTANCE = 3,       /* symbols in which two keys of one log differ at least */
    HELD_OUT_ONE_IN = 10,   /* operand pairs that training never sees */
    EVAL_FILLER_ONE_IN = 5, /* filler lines that training never sees */
    LINE_BYTES = 64,        /* the longest filler line has 39 bytes */
    ASK_BYTES = 96,         /* the longest question has 73 */
    LOG_BYTES =
        64 *
        1024,   /* 2,048 tokens of this grammar are about 5 KB; long prompts get 24 bytes a token */
    TRIES = 200 /* of fitting a length exactly; mostly one is enough, sometimes a few */
};

/* ---- kinds and wordings ---- */

static const char *const CHECKS[QUESTION_ALL_KINDS] = {
    "key-recall/1",   "sum/1",       "tool-call/1",  "key-count/1",
    "plain-recall/1", "plain-sum/1", "plain-pair/1",
};

const char *question_check(enum question_kind kind) {
    return CHECKS[kind];
}

int question_from_check(const char *check) {
    for (int i = 0; i < QUESTION_ALL_KINDS; i++)
        if (!strcmp(check, CHECKS[i])) return i;
    return -1;
}

struct question_set question_set(enum question_wording wording) {
    static const struct question_set sets[WORDINGS] = {
        {QUESTION_RECALL, QUESTION_KINDS, QUESTION_TAIL_TOKENS, 256},
        {QUESTION_PLAIN_RECALL, QUESTION_ALL_KINDS - QUESTION_KINDS, QUESTION_PLAIN_TAIL_TOKENS,
         96}};
    return sets[wording];
}

enum question_wording question_wording(enum question_kind kind) {
    return kind < QUESTION_KINDS ? WORDING_GRAMMAR : WORDING_PLAIN;
}

const char *question_wording_name(enum question_wording wording) {
    return wording == WORDING_GRAMMAR ? "grammar" : "plain";
}

enum question_wording question_wording_for(const struct tokenizer *t) {
    const char *family = tokenizer_chat_family(t);
    static const char *const without[] = {"none", "unknown", "plain"};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (!strcmp(family, without[i])) return WORDING_GRAMMAR;
    return WORDING_PLAIN;
}

/* ---- what is held out ---- */

static uint32_t mix32(uint32_t x) { /* the "lowbias32" finaliser (Wellons 2018) */
    x ^= x >> 16;
    x *= UINT32_C(0x7feb352d);
    x ^= x >> 15;
    x *= UINT32_C(0x846ca68b);
    return x ^ x >> 16;
}

static uint32_t fnv1a32(const char *s) {
    uint32_t h = UINT32_C(0x811c9dc5);
    for (; *s; s++) h = (h ^ (unsigned char)*s) * UINT32_C(0x01000193);
    return h;
}

/* Numbered as in training: the number is part of the hash. */
enum op { OP_SUM, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MAX, OP_GET, OP_N };

static bool is_held_out(enum op op, uint32_t a, uint32_t b) {
    uint32_t lo = a < b ? a : b, hi = a < b ? b : a;
    return mix32((uint32_t)op << 20 | lo << 10 | hi) % HELD_OUT_ONE_IN == 0;
}

/* ---- lines ---- */

static void filler_line(struct rng *r, char line[LINE_BYTES]) {
    do {
        int n = snprintf(line, LINE_BYTES, "%02d:%02d %s %s %s", (int)rng_below(r, 24),
                         (int)rng_below(r, 60), PICK(r, LEVELS), PICK(r, SUBJECTS), PICK(r, VERBS));
        char *end = line + n;
        size_t room = LINE_BYTES - (size_t)n;
        switch (rng_below(r, 4)) {
        case 1:
            snprintf(end, room, " %s", PICK(r, STATES));
            break;
        case 2:
            snprintf(end, room, " %d ms", (int)rng_below(r, 1000));
            break;
        case 3:
            snprintf(end, room, " %d %s", (int)rng_below(r, 1000), PICK(r, STATES));
            break;
        }
    } while (mix32(fnv1a32(line)) % EVAL_FILLER_ONE_IN != 0);
    strcat(line, "\n");
}

static void random_key(struct rng *r, char key[5]) {
    for (int i = 0; i < 4; i += 2) {
        key[i] = KEY_LETTERS[rng_below(r, sizeof KEY_LETTERS - 1)];
        key[i + 1] = (char)('0' + rng_below(r, 10));
    }
    key[4] = '\0';
}

static bool key_is_apart(const struct question_log *log, const char *key) {
    for (int32_t i = 0; i < log->n_keys; i++) {
        int differ = 0;
        for (int j = 0; j < 4; j++) differ += key[j] != log->records[i].key[j];
        if (differ < KEY_DISTANCE) return false;
    }
    return true;
}

/* Every second record, from the first on, gets a value from which a count has the right length. */
static void draw_values_to_count(struct question_log *log, uint64_t seed) {
    struct rng r;
    rng_seed(&r, seed ^ UINT64_C(0x636f756e74) << 20); /* the other draws stay what they were */
    for (int32_t i = 0; i < log->n_keys; i += 2) {
        int numbers =
            QUESTION_MIN_COUNT + (int)rng_below(&r, QUESTION_MAX_COUNT - QUESTION_MIN_COUNT + 1);
        log->records[i].value[2] = (char)('0' + (101 - numbers) / 10);
        log->records[i].value[3] = (char)('0' + (101 - numbers) % 10);
    }
}

static void draw_keys(struct question_log *log, struct rng *r) {
    int32_t want =
        QUESTION_MIN_KEYS + (int32_t)rng_below(r, QUESTION_MAX_KEYS - QUESTION_MIN_KEYS + 1);
    while (log->n_keys < want) {
        char key[5];
        random_key(r, key);
        if (!key_is_apart(log, key)) continue;
        memcpy(log->records[log->n_keys].key, key, sizeof key);
        snprintf(log->records[log->n_keys].value, 5, "%04d", (int)rng_below(r, 10000));
        log->n_keys++;
    }
}

/* ---- lengths ---- */

static int32_t count_plain(const struct tokenizer *t, const char *text, struct err *e) {
    int32_t *ids = NULL;
    int32_t n = tokenizer_encode(t, text, strlen(text), false, &ids, e);
    free(ids);
    return n;
}

/* Tokens that `text` adds at the beginning of a line. Some tokenizers join a line's first
 * characters with the newline before them. */
static int32_t count_on_new_line(const struct tokenizer *t, const char *text, struct err *e) {
    char line[LINE_BYTES * 10];
    snprintf(line, sizeof line, "ok\n%s", text);
    int32_t whole = count_plain(t, line, e), before = count_plain(t, "ok\n", e);
    return whole < 0 || before < 0 ? -1 : whole - before;
}

static int32_t count_chat(const struct tokenizer *t, const char *text, struct err *e) {
    struct chat_message m = {.role = "user", .content = text};
    int32_t *ids = NULL;
    int32_t n = tokenizer_encode_chat(t, &m, 1, &ids, e);
    free(ids);
    return n;
}

/* ---- questions ---- */

static uint32_t
operand(struct rng *r) { /* one digit in 20 %, two in 56 %, three in 24 % of draws */
    uint64_t x = rng_below(r, 100);
    if (x < 20) return (uint32_t)rng_below(r, 10);
    if (x < 76) return 10 + (uint32_t)rng_below(r, 90);
    return 100 + (uint32_t)rng_below(r, 900);
}

static uint32_t half_key_number(const char *half) { /* "B0" .. "X9" numbered 0 .. 189 */
    return (uint32_t)(strchr(KEY_LETTERS, half[0]) - KEY_LETTERS) * 10 + (uint32_t)(half[1] - '0');
}

static void ask_sum(struct rng *r, bool plain, char *ask, size_t cap, struct question *q) {
    uint32_t a, b;
    do {
        a = 10 + (uint32_t)rng_below(r, 90);
        b = 10 + (uint32_t)rng_below(r, 90);
    } while (!is_held_out(OP_SUM, a, b));
    if (plain)
        snprintf(ask, cap, "What is %u + %u?", a, b);
    else
        snprintf(ask, cap, "%u+%u=", a, b);
    snprintf(q->answer, sizeof q->answer, "%u", a + b);
}

static void ask_tool(struct rng *r, char *ask, size_t cap, struct question *q) {
    static const struct {
        const char *name, *wording;
    } tools[OP_N] = {
        [OP_ADD] = {"add", "add %u and %u>"},       [OP_SUB] = {"sub", "subtract %u from %u>"},
        [OP_MUL] = {"mul", "multiply %u by %u>"},   [OP_DIV] = {"div", "divide %u by %u>"},
        [OP_MAX] = {"max", "larger of %u and %u>"}, [OP_GET] = {"get", NULL}};
    enum op op = OP_ADD + (enum op)rng_below(r, OP_N - OP_ADD);
    if (op == OP_GET) {
        char key[5];
        do random_key(r, key);
        while (!is_held_out(op, half_key_number(key), half_key_number(key + 2)));
        snprintf(ask, cap, "find %s>", key);
        snprintf(q->answer, sizeof q->answer, "{\"tool\":\"get\",\"args\":[\"%s\"]}", key);
        return;
    }
    uint32_t a, b;
    do {
        a = operand(r);
        b = operand(r);
    } while (!is_held_out(op, a, b));
    /* "subtract 3 from 10" is sub(10, 3): the wording names the operands in reverse */
    uint32_t x = op == OP_SUB ? b : a, y = op == OP_SUB ? a : b;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the wordings are the constants above */
    snprintf(ask, cap, tools[op].wording, a, b);
#pragma GCC diagnostic pop
    snprintf(q->answer, sizeof q->answer, "{\"tool\":\"%s\",\"args\":[%u,%u]}", tools[op].name, x,
             y);
}

static void ask_recall(char *ask, size_t cap, const struct question_log *log, int32_t index,
                       struct question *q) {
    q->record = index % log->n_keys;
    snprintf(ask, cap, "? %s", log->records[q->record].key);
    snprintf(q->answer, sizeof q->answer, " %s", log->records[q->record].value);
}

static void ask_count(char *ask, size_t cap, const struct question_log *log, int32_t index,
                      struct question *q) {
    q->record = index % ((log->n_keys + 1) / 2) * 2;
    snprintf(ask, cap, "get %s full>", log->records[q->record].key);
    int number = atoi(log->records[q->record].value);
    size_t at = 0;
    for (bool more = true; more && at + 6 <= sizeof q->answer; number++) {
        at += (size_t)snprintf(q->answer + at, sizeof q->answer - at, " %04d", number % 10000);
        more = number % 100 != 0;
    }
}

static void ask_plainly(struct rng *r, char *ask, size_t cap, const struct question_log *log,
                        int32_t index, struct question *q) {
    int32_t first = index % log->n_keys,
            second = (first + 1 + (int32_t)rng_below(r, (uint64_t)log->n_keys - 1)) % log->n_keys;
    switch (q->kind) {
    case QUESTION_PLAIN_RECALL:
        q->record = first;
        snprintf(ask, cap, "Find the line that begins with \"key %s\" and repeat it.",
                 log->records[first].key);
        snprintf(q->answer, sizeof q->answer, "%s", log->records[first].value);
        break;
    case QUESTION_PLAIN_PAIR:
        snprintf(ask, cap,
                 "Find the lines that begin with \"key %s\" and \"key %s\" and repeat them.",
                 log->records[first].key, log->records[second].key);
        snprintf(q->answer, sizeof q->answer, "%s %s", log->records[first].value,
                 log->records[second].value);
        break;
    default:
        ask_sum(r, true, ask, cap, q);
    }
}

/* Filler lines in front of `ask`, their start cut off character by character until the count is
 * exact. */
static int fit_tail(struct question *q, const struct tokenizer *t, const char *ask, struct rng *r,
                    struct err *e) {
    int32_t want = question_set(question_wording(q->kind)).tail_tokens;
    for (int attempt = 0; attempt < TRIES; attempt++) {
        char text[sizeof q->tail];
        snprintf(text, sizeof text, "%s", ask);
        int32_t n = count_on_new_line(t, text, e);
        while (n >= 0 && n < want) {
            char line[LINE_BYTES];
            filler_line(r, line);
            if (strlen(text) + strlen(line) >= sizeof text)
                return err_set(e, "the tokenizer needs too few tokens for a question's tail");
            memmove(text + strlen(line), text, strlen(text) + 1);
            memcpy(text, line, strlen(line));
            n = count_on_new_line(t, text, e);
        }
        const char *start = text;
        while (n > want && *start) n = count_on_new_line(t, ++start, e);
        if (n < 0) return -1;
        /* a tail that begins with a space could join the newline before it */
        if (n == want && strlen(start) >= strlen(ask) && *start != ' ') {
            snprintf(q->tail, sizeof q->tail, "%s", start);
            return 0;
        }
    }
    return err_set(e, "found no tail of exactly %d tokens for this tokenizer", want);
}

int question_make(struct question *q, const struct question_log *log, const struct tokenizer *t,
                  enum question_kind kind, uint64_t seed, int32_t index, struct err *e) {
    struct rng r;
    struct question_set set = question_set(question_wording(kind));
    uint64_t number = (uint64_t)index * (uint64_t)set.n + (uint64_t)(kind - set.first) + 1;
    if (set.first) number |= 1 << 24; /* the plain questions have streams of their own */
    rng_seed(&r,
             seed ^ number << 32); /* logs use small seeds, so no question shares a log's stream */
    char ask[ASK_BYTES];
    *q = (struct question){.kind = kind, .record = -1};
    switch (kind) {
    case QUESTION_RECALL:
        ask_recall(ask, sizeof ask, log, index, q);
        break;
    case QUESTION_COUNT:
        ask_count(ask, sizeof ask, log, index, q);
        break;
    case QUESTION_SUM:
        ask_sum(&r, false, ask, sizeof ask, q);
        break;
    case QUESTION_TOOL:
        ask_tool(&r, ask, sizeof ask, q);
        break;
    case QUESTION_PLAIN_RECALL:
    case QUESTION_PLAIN_SUM:
    case QUESTION_PLAIN_PAIR:
        ask_plainly(&r, ask, sizeof ask, log, index, q);
        break;
    default:
        return err_set(e, "question kind %d is unknown", (int)kind);
    }
    return fit_tail(q, t, ask, &r, e);
}

/* ---- logs ---- */

static void shuffle(int32_t *order, int32_t n, struct rng *r) {
    for (int32_t i = n - 1; i > 0; i--) {
        int32_t j = (int32_t)rng_below(r, (uint64_t)i + 1), x = order[i];
        order[i] = order[j];
        order[j] = x;
    }
}

/* One filler line, then `n_filler` more and all records in random order. Returns the text's length.
 */
static size_t write_log(struct question_log *log, int32_t n_filler, struct rng *r) {
    int32_t n = log->n_keys + n_filler, *order = malloc((size_t)n * sizeof *order);
    INVARIANT(order);
    for (int32_t i = 0; i < n; i++) order[i] = i;
    shuffle(order, n, r);
    filler_line(r, log->text);
    size_t at = strlen(log->text);
    for (int32_t i = 0; i < n; i++) {
        char line[LINE_BYTES];
        int32_t k = order[i];
        if (k < log->n_keys)
            snprintf(line, sizeof line, "key %s %s\n", log->records[k].key, log->records[k].value);
        else
            filler_line(r, line);
        strcpy(log->text + at, line);
        at += strlen(line);
        if (k < log->n_keys) log->records[k].end = at;
    }
    free(order);
    return at;
}

/* Tokens of the whole prompt with the tail of `probe`. */
static int32_t count_prompt(const struct tokenizer *t, const char *log_text,
                            const struct question *probe, struct err *e) {
    size_t n = strlen(log_text), m = strlen(probe->tail);
    char *text = malloc(n + m + 1);
    INVARIANT(text);
    memcpy(text, log_text, n);
    memcpy(text + n, probe->tail, m + 1);
    int32_t count = count_chat(t, text, e);
    free(text);
    return count;
}

static void cut_front(struct question_log *log, size_t cut) {
    memmove(log->text, log->text + cut, strlen(log->text + cut) + 1);
    for (int32_t i = 0; i < log->n_keys; i++) log->records[i].end -= cut;
}

int question_log_make(struct question_log *log, const struct tokenizer *t,
                      enum question_wording wording, uint64_t seed, int32_t prompt_tokens,
                      struct err *e) {
    *log = (struct question_log){0};
    if (prompt_tokens < 400 || prompt_tokens > 32768)
        return err_set(e, "a log prompt has 400 to 32768 tokens, not %d", prompt_tokens);
    struct rng r;
    rng_seed(&r, seed);
    draw_keys(log, &r);
    draw_values_to_count(log, seed);
    size_t cap = LOG_BYTES + (size_t)prompt_tokens * 24;
    log->text = malloc(cap);
    INVARIANT(log->text);
    struct question probe;
    if (question_make(&probe, log, t, wording == WORDING_PLAIN ? QUESTION_PLAIN_SUM : QUESTION_SUM,
                      seed, 0, e))
        goto fail;
    int32_t n_filler = prompt_tokens / 16; /* a first guess, then grown */
    for (int attempt = 0; attempt < TRIES; attempt++) {
        size_t bytes = write_log(log, n_filler, &r);
        int32_t n = count_prompt(t, log->text, &probe, e);
        if (n < 0) goto fail;
        if (n < prompt_tokens) { /* a filler line has about 16 tokens at most, under all known
                                    tokenizers */
            n_filler += 1 + (prompt_tokens - n) / 16;
            if ((size_t)n_filler * LINE_BYTES + bytes >= cap) break;
            continue;
        }
        size_t first_line = strcspn(log->text, "\n") + 1, cut = 0;
        while (n > prompt_tokens && cut < first_line)
            if ((n = count_prompt(t, log->text + ++cut, &probe, e)) < 0) goto fail;
        if (n == prompt_tokens) {
            cut_front(log, cut);
            return 0;
        }
        if (n > prompt_tokens) n_filler -= 1 + (n - prompt_tokens) / 16;
        if (n_filler < 0) break;
    }
    err_set(e, "found no log of exactly %d tokens for this tokenizer", prompt_tokens);
fail:
    question_log_release(log);
    return -1;
}

void question_log_release(struct question_log *log) {
    free(log->text);
    *log = (struct question_log){0};
}

int question_prompt(const struct tokenizer *t, enum question_kind kind, uint64_t seed,
                    int32_t index, int32_t prompt_tokens, char **text, struct question *q,
                    struct err *e) {
    struct question_log log;
    if (question_log_make(&log, t, question_wording(kind), seed, prompt_tokens, e)) return -1;
    int rc = question_make(q, &log, t, kind, seed, index, e);
    if (!rc) {
        size_t n = strlen(log.text), m = strlen(q->tail);
        *text = malloc(n + m + 1);
        INVARIANT(*text);
        memcpy(*text, log.text, n);
        memcpy(*text + n, q->tail, m + 1);
        int32_t count = count_chat(t, *text, e);
        if (count != prompt_tokens) {
            if (count >= 0)
                err_set(e,
                        "the prompt came out with %d tokens, not %d: this tokenizer joins log and "
                        "question",
                        count, prompt_tokens);
            free(*text);
            *text = NULL;
            rc = -1;
        }
    }
    question_log_release(&log);
    return rc;
}
