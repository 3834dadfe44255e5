/* registers.c: which of a function's values a thread has no register for.
 *
 * A value is alive from where it is computed to where it is used last. Where the values that are
 * alive at one time take more than a thread's registers, a compiler keeps some of them in local
 * memory: it stores such a value once, and loads it again in each block that uses it. This file
 * finds those values, from the ends of the blocks to their beginnings, and puts a call of
 * simt_ir_spill at each of these places. It takes the values with the fewest uses. A value that is
 * alive during a call has a register only where the called function leaves one. What follows from
 * the kernel's parameters and the thread's place alone takes none: it can be computed again.
 */
#include "ir.h"

#include <stdlib.h>
#include <string.h>

struct value {
    LLVMValueRef v;
    unsigned bytes, uses;
    bool crosses; /* to another block */
    bool alive, spilled;
};

struct block {
    LLVMBasicBlockRef b;
    uint64_t *in, *out, *own, *needs; /* bits of values: alive at its beginning, at its end;
                                         computed here; used here but computed elsewhere */
};

struct table {
    const void **key;
    uint32_t *at, room; /* a power of two */
};

struct work {
    struct ir *ir;
    LLVMValueRef f;
    struct value *values;
    struct block *blocks;
    size_t n_values, n_blocks, words;       /* of bits */
    struct table value_of, block_of, again; /* values that can be computed again */
    uint64_t alive;                         /* bytes, while a block is gone through */
    uint64_t most;
};

/* What is known of a function. */
struct ir_registers {
    LLVMValueRef f;
    uint64_t most;
    LLVMValueRef *spilled;
    size_t n_spilled;
    struct ir_registers *next;
};

static void *zeroed(size_t n, size_t bytes) {
    void *p = calloc(n + 1, bytes);
    if (!p) exit(INSTRUMENT_FAILED);
    return p;
}

static void table_free(struct table *t);
static void collect(struct work *w);
static void find_alive(struct work *w);
static void go_through(struct work *w, const struct block *b);
static void call_spills(struct ir *ir, LLVMValueRef f, LLVMValueRef v);

static struct ir_registers *find(struct ir *ir, LLVMValueRef f) {
    struct ir_registers *r = ir->registers;
    while (r && r->f != f) r = r->next;
    return r;
}

uint64_t ir_registers_of(struct ir *ir, LLVMValueRef f) {
    struct work w = {.ir = ir, .f = f};
    struct ir_registers *known = find(ir, f), *made;
    if (known) return known->most;
    collect(&w);
    find_alive(&w);
    for (size_t i = 0; i < w.n_blocks; i++) go_through(&w, &w.blocks[i]);
    made = zeroed(1, sizeof *made);
    *made = (struct ir_registers){f, w.most, zeroed(w.n_values, sizeof f), 0, ir->registers};
    for (size_t i = 0; i < w.n_values; i++)
        if (w.values[i].spilled) made->spilled[made->n_spilled++] = w.values[i].v;
    ir->registers = made;
    free(w.blocks[0].in), free(w.values), free(w.blocks);
    table_free(&w.value_of), table_free(&w.block_of), table_free(&w.again);
    return made->most;
}

void ir_spill(struct ir *ir, LLVMValueRef f) {
    const struct ir_registers *r = find(ir, f);
    for (size_t i = 0; r && i < r->n_spilled; i++) call_spills(ir, f, r->spilled[i]);
}

/* ---- numbers of values and blocks ------------------------------------------------------------ */

static void table_make(struct table *t, size_t n) {
    for (t->room = 16; t->room < 2 * n;) t->room *= 2;
    t->key = zeroed(t->room, sizeof *t->key);
    t->at = zeroed(t->room, sizeof *t->at);
}

static void table_free(struct table *t) {
    free(t->key), free(t->at);
}

/* The place of a key, or the free one where it would be. */
static uint32_t table_place(const struct table *t, const void *key) {
    uint32_t i = (uint32_t)((uintptr_t)key / 8 * 0x9e3779b97f4a7c15u >> 32) & (t->room - 1);
    while (t->key[i] && t->key[i] != key) i = (i + 1) & (t->room - 1);
    return i;
}

static void table_put(struct table *t, const void *key, size_t number) {
    uint32_t i = table_place(t, key);
    t->key[i] = key, t->at[i] = (uint32_t)number;
}

static struct value *value_of(const struct work *w, LLVMValueRef v) {
    uint32_t i = table_place(&w->value_of, v);
    return w->value_of.key[i] ? &w->values[w->value_of.at[i]] : NULL;
}

static struct block *block_of(const struct work *w, LLVMBasicBlockRef b) {
    return &w->blocks[w->block_of.at[table_place(&w->block_of, b)]];
}

/* A condition is a bit. Other values take whole registers. */
static unsigned bytes_of(const struct ir *ir, LLVMValueRef v) {
    LLVMTypeRef type = LLVMTypeOf(v);
    unsigned kind = (unsigned)LLVMGetTypeKind(type);
    if (kind == LLVMVoidTypeKind || LLVMIsAAllocaInst(v)) return 0;
    if (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 1) return 1;
    return (unsigned)((LLVMABISizeOfType(ir->layout, type) + 3) / 4 * 4);
}

/* Loads have one pointer; that of the four variables of CUDA is known. */
static bool can_be_computed_again(const struct work *w, LLVMValueRef v) {
    int op = LLVMGetInstructionOpcode(v);
    if (op == LLVMLoad) return ir_is_built_in(ir_origin_of(w->ir, LLVMGetOperand(v, 0)).base);
    if (op == LLVMPHI || op == LLVMCall || op == LLVMAlloca) return false;
    for (int i = 0; i < LLVMGetNumOperands(v); i++) {
        LLVMValueRef o = LLVMGetOperand(v, (unsigned)i);
        if (LLVMIsAInstruction(o) && !w->again.key[table_place(&w->again, o)]) return false;
    }
    return true;
}

static void add_value(struct work *w, LLVMValueRef v, LLVMBasicBlockRef home) {
    struct value *x = &w->values[w->n_values];
    *x = (struct value){.v = v, .bytes = bytes_of(w->ir, v)};
    if (!x->bytes) return;
    if (LLVMIsAInstruction(v) && can_be_computed_again(w, v)) {
        table_put(&w->again, v, 0);
        return;
    }
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        x->uses++;
        x->crosses |=
            LLVMGetInstructionOpcode(user) == LLVMPHI || LLVMGetInstructionParent(user) != home;
    }
    if (x->uses) table_put(&w->value_of, v, w->n_values++);
}

static void collect(struct work *w) {
    size_t n = LLVMCountParams(w->f);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(w->f);
    for (LLVMBasicBlockRef b = entry; b; b = LLVMGetNextBasicBlock(b), w->n_blocks++)
        for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v)) n++;
    w->values = zeroed(n, sizeof *w->values);
    w->blocks = zeroed(w->n_blocks, sizeof *w->blocks);
    table_make(&w->value_of, n);
    table_make(&w->again, n);
    table_make(&w->block_of, w->n_blocks);
    for (unsigned i = 0; i < LLVMCountParams(w->f); i++) add_value(w, LLVMGetParam(w->f, i), entry);
    n = 0;
    for (LLVMBasicBlockRef b = entry; b; b = LLVMGetNextBasicBlock(b)) {
        w->blocks[n].b = b;
        table_put(&w->block_of, b, n++);
        for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v))
            add_value(w, v, b);
    }
}

/* ---- what is alive at the ends of the blocks --------------------------------------------------
 */

static size_t number_of(const struct work *w, const struct value *v) {
    return (size_t)(v - w->values);
}

static void set(uint64_t *bits, size_t i) {
    bits[i / 64] |= UINT64_C(1) << i % 64;
}

static bool has(const uint64_t *bits, size_t i) {
    return bits[i / 64] >> i % 64 & 1;
}

static void note_uses(struct work *w, struct block *b, LLVMValueRef v) {
    struct value *made = value_of(w, v);
    for (int i = 0; i < LLVMGetNumOperands(v); i++) {
        struct value *used = value_of(w, LLVMGetOperand(v, (unsigned)i));
        if (!used || !used->crosses) continue;
        if (LLVMGetInstructionOpcode(v) == LLVMPHI)
            set(block_of(w, LLVMGetIncomingBlock(v, (unsigned)i))->out, number_of(w, used));
        else if (!has(b->own, number_of(w, used)))
            set(b->needs, number_of(w, used));
    }
    if (made && made->crosses) set(b->own, number_of(w, made));
}

/* in = needs + (out - own) of a block; out is what any successor needs. */
static bool flow(struct work *w, struct block *b) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(b->b);
    bool changed = false;
    for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
        const struct block *next = block_of(w, LLVMGetSuccessor(end, s));
        for (size_t i = 0; i < w->words; i++) b->out[i] |= next->in[i];
    }
    for (size_t i = 0; i < w->words; i++) {
        uint64_t in = b->needs[i] | (b->out[i] & ~b->own[i]);
        changed |= in != b->in[i];
        b->in[i] = in;
    }
    return changed;
}

static void find_alive(struct work *w) {
    w->words = w->n_values / 64 + 1;
    uint64_t *bits = zeroed(4 * w->n_blocks * w->words, sizeof *bits);
    for (size_t i = 0; i < w->n_blocks; i++, bits += 4 * w->words) {
        struct block *b = &w->blocks[i];
        b->in = bits, b->out = bits + w->words, b->own = bits + 2 * w->words;
        b->needs = bits + 3 * w->words;
    }
    for (size_t i = 0; i < w->n_blocks; i++)
        for (LLVMValueRef v = LLVMGetFirstInstruction(w->blocks[i].b); v;
             v = LLVMGetNextInstruction(v))
            note_uses(w, &w->blocks[i], v);
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = w->n_blocks; i-- > 0;) changed |= flow(w, &w->blocks[i]);
    }
}

/* ---- where there are too many ---------------------------------------------------------------- */

static void set_alive(struct work *w, struct value *v, bool alive) {
    if (!v || v->alive == alive) return;
    v->alive = alive;
    if (v->spilled) return;
    if (alive)
        w->alive += v->bytes;
    else
        w->alive -= v->bytes;
}

static void set_all(struct work *w, const uint64_t *bits, bool alive) {
    for (size_t i = 0; i < w->words; i++)
        for (uint64_t left = bits[i]; left; left &= left - 1)
            set_alive(w, &w->values[i * 64 + (size_t)__builtin_ctzll(left)], alive);
}

/* `more`: what a called function takes. */
static void keep_within(struct work *w, uint64_t more) {
    while (w->alive + more > REGISTER_BYTES && w->alive) {
        struct value *least = NULL;
        for (size_t i = 0; i < w->n_values; i++) {
            struct value *v = &w->values[i];
            if (v->alive && !v->spilled && (!least || v->uses < least->uses)) least = v;
        }
        least->spilled = true;
        w->alive -= least->bytes;
    }
    if (w->alive + more > w->most) w->most = w->alive + more;
}

static uint64_t called_takes(struct work *w, LLVMValueRef v) {
    LLVMValueRef f = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
    return f && LLVMIsAFunction(f) && LLVMCountBasicBlocks(f) ? ir_registers_of(w->ir, f) : 0;
}

static void go_through(struct work *w, const struct block *b) {
    size_t n = 0;
    LLVMValueRef *list;
    for (LLVMValueRef v = LLVMGetFirstInstruction(b->b); v; v = LLVMGetNextInstruction(v)) n++;
    list = zeroed(n, sizeof(LLVMValueRef));
    n = 0;
    for (LLVMValueRef v = LLVMGetFirstInstruction(b->b); v; v = LLVMGetNextInstruction(v))
        list[n++] = v;
    set_all(w, b->out, true);
    keep_within(w, 0);
    while (n-- > 0 && LLVMGetInstructionOpcode(list[n]) != LLVMPHI) {
        set_alive(w, value_of(w, list[n]), false);
        keep_within(w, called_takes(w, list[n]));
        for (int i = 0; i < LLVMGetNumOperands(list[n]); i++)
            set_alive(w, value_of(w, LLVMGetOperand(list[n], (unsigned)i)), true);
        keep_within(w, 0);
    }
    set_all(w, b->in, false);
    for (; n != (size_t)-1; n--) set_alive(w, value_of(w, list[n]), false); /* phis */
    free(list);
}

/* ---- the calls ------------------------------------------------------------------------------- */

static void call_spill(struct ir *ir, LLVMValueRef before, uint64_t at, unsigned bytes,
                       bool write) {
    ir_go_before(ir, before);
    LLVMValueRef arguments[] = {ir_number(ir, at), ir_number(ir, bytes), ir_number(ir, write),
                                ir_site(ir)};
    ir_call(ir, "simt_ir_spill", arguments, 4);
}

/* Behind the value, and behind the variables and phis at a block's beginning. */
static LLVMValueRef behind(LLVMValueRef f, LLVMValueRef v) {
    LLVMValueRef at = LLVMIsAInstruction(v) ? LLVMGetNextInstruction(v)
                                            : LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f));
    while (LLVMGetInstructionOpcode(at) == LLVMPHI || LLVMIsAAllocaInst(at))
        at = LLVMGetNextInstruction(at);
    return at;
}

/* The first instruction of a block that takes the value; its end where only a phi behind it does.
 */
static LLVMValueRef first_use(LLVMBasicBlockRef b, LLVMValueRef v) {
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
        for (int k = 0; LLVMGetInstructionOpcode(i) != LLVMPHI && k < LLVMGetNumOperands(i); k++)
            if (LLVMGetOperand(i, (unsigned)k) == v) return i;
    return LLVMGetBasicBlockTerminator(b);
}

struct places {
    LLVMBasicBlockRef *of;
    size_t n;
};

static void places_add(struct places *p, LLVMBasicBlockRef b) {
    for (size_t i = 0; i < p->n; i++)
        if (p->of[i] == b) return;
    p->of[p->n++] = b;
}

/* The blocks that need the value. A phi takes it at the end of the block before. */
static struct places users_of(LLVMValueRef v) {
    struct places p = {0};
    size_t most = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        most += (size_t)LLVMGetNumOperands(LLVMGetUser(u));
    p.of = zeroed(most, sizeof(LLVMBasicBlockRef));
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        bool phi = LLVMGetInstructionOpcode(user) == LLVMPHI;
        if (!phi) places_add(&p, LLVMGetInstructionParent(user));
        for (int i = 0; phi && i < LLVMGetNumOperands(user); i++)
            if (LLVMGetOperand(user, (unsigned)i) == v)
                places_add(&p, LLVMGetIncomingBlock(user, (unsigned)i));
    }
    return p;
}

static void call_spills(struct ir *ir, LLVMValueRef f, LLVMValueRef v) {
    uint64_t at = ir->spilled_bytes;
    unsigned bytes = bytes_of(ir, v);
    struct places p = users_of(v);
    ir->spilled_bytes += bytes;
    for (size_t i = 0; i < p.n; i++) call_spill(ir, first_use(p.of[i], v), at, bytes, false);
    call_spill(ir, behind(f, v), at, bytes, true);
    free(p.of);
}
