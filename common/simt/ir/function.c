/* function.c: one function: attributes, local variables, instructions, blocks. */
#include "ir.h"

#include <stdlib.h>
#include <string.h>

struct list {
    LLVMValueRef *of;
    size_t count, room;
};

static bool is_unseen(struct ir *ir, LLVMValueRef f);
static void strip(struct ir *ir, LLVMValueRef f);
static struct list instructions(LLVMValueRef f);
static unsigned enter_locals(struct ir *ir, LLVMValueRef f, const struct list *l);
static void define_operands(struct ir *ir, LLVMValueRef v);
static void mark_blocks(struct ir *ir, LLVMValueRef f);
static void call_trap(struct ir *ir, LLVMValueRef before);

void ir_function(struct ir *ir, LLVMValueRef f) {
    if (!ir->kernel && is_unseen(ir, f)) return;
    if (ir->kernel) strip(ir, f);
    struct list l = instructions(f);
    unsigned entered = enter_locals(ir, f, &l);
    if (ir->kernel) ir_spill(ir, f);
    for (size_t i = 0; i < l.count && !ir->refused; i++) {
        LLVMValueRef v = l.of[i];
        if (ir->kernel) define_operands(ir, v);
        ir_instruction(ir, v);
        if (ir->kernel && LLVMGetInstructionOpcode(v) == LLVMUnreachable) call_trap(ir, v);
        if (!entered || LLVMGetInstructionOpcode(v) != LLVMRet) continue;
        LLVMValueRef n = ir_number(ir, entered);
        ir_call(ir, "simt_ir_leave", &n, 1);
    }
    if (!ir->refused) mark_blocks(ir, f);
    free(l.of);
}

/* ---- what a function is ---------------------------------------------------------------------- */

/* Of a whole program: SIMT_UNSEEN of cuda_runtime.h, simt's own code between the runtime and a
 * kernel. clang keeps the mark in a list of functions and texts. */
static bool is_unseen(struct ir *ir, LLVMValueRef f) {
    static const char mark[] = "simt unseen";
    LLVMValueRef g = LLVMGetNamedGlobal(ir->module, "llvm.global.annotations");
    LLVMValueRef list = g ? LLVMGetInitializer(g) : NULL;
    for (int i = 0; list && i < LLVMGetNumOperands(list); i++) {
        LLVMValueRef entry = LLVMGetOperand(list, (unsigned)i), of = LLVMGetOperand(entry, 0);
        size_t n = 0;
        while (LLVMIsAConstantExpr(of)) of = LLVMGetOperand(of, 0);
        const char *text = of == f ? ir_literal(ir, LLVMGetOperand(entry, 1), &n) : NULL;
        if (text && strcmp(text, mark) == 0) return true;
    }
    return false;
}

/* Takes all of its attributes: they were for the optimiser, which is done, or they would change
 * the code that is made. One is added: large frames touch every page of the stack in turn, so that
 * they meet the guard page. */
static void strip(struct ir *ir, LLVMValueRef f) {
    static const char probe[] = "probe-stack", how[] = "inline-asm";
    unsigned at = LLVMAttributeFunctionIndex, n = LLVMGetAttributeCountAtIndex(f, at);
    LLVMAttributeRef *list = calloc(n + 1, sizeof *list);
    if (!list) exit(INSTRUMENT_FAILED);
    LLVMGetAttributesAtIndex(f, at, list);
    for (unsigned i = 0; i < n; i++) {
        unsigned length = 0;
        if (LLVMIsStringAttribute(list[i])) {
            const char *name = LLVMGetStringAttributeKind(list[i], &length);
            LLVMRemoveStringAttributeAtIndex(f, at, name, length);
        } else {
            unsigned kind = LLVMGetEnumAttributeKind(list[i]);
            if (kind == LLVMGetEnumAttributeKindForName("naked", 5))
                ir_refuse(ir, f, "a function without a frame is assembly; CUDA C only, please");
            LLVMRemoveEnumAttributeAtIndex(f, at, kind);
        }
    }
    free(list);
    LLVMAddAttributeAtIndex(
        f, at,
        LLVMCreateStringAttribute(ir->context, probe, sizeof probe - 1, how, sizeof how - 1));
    if (LLVMHasPersonalityFn(f)) ir_refuse(ir, f, "device code has no exceptions");
    if (LLVMIsFunctionVarArg(LLVMGlobalGetValueType(f)))
        ir_refuse(ir, f, "a device function has a fixed number of parameters");
    LLVMSetSection(f, "");
}

/* ---- local variables ------------------------------------------------------------------------- */

static void list_add(struct list *l, LLVMValueRef v) {
    if (l->count == l->room) {
        l->room = l->room ? 2 * l->room : 256;
        l->of = realloc(l->of, l->room * sizeof *l->of);
        if (!l->of) exit(INSTRUMENT_FAILED);
    }
    l->of[l->count++] = v;
}

static bool is_call_of(LLVMValueRef v, const char *prefix) {
    LLVMValueRef f = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
    return f && LLVMIsAFunction(f) && !strncmp(ir_name(f), prefix, strlen(prefix));
}

/* Marks of lifetimes go: a variable lives as long as its function runs, and none takes the place
 * of another. */
static struct list instructions(LLVMValueRef f) {
    struct list l = {0};
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef v = LLVMGetFirstInstruction(b), after; v; v = after) {
            after = LLVMGetNextInstruction(v);
            if (is_call_of(v, "llvm.lifetime."))
                LLVMInstructionEraseFromParent(v);
            else
                list_add(&l, v);
        }
    return l;
}

/* A local variable of fixed size, in the function's first block. */
static bool is_fixed(LLVMValueRef v) {
    LLVMBasicBlockRef b = LLVMGetInstructionParent(v);
    return LLVMIsAAllocaInst(v) && b == LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(b)) &&
           LLVMIsAConstantInt(LLVMGetOperand(v, 0));
}

/* Whether the address gets anywhere but into loads, stores and copies, which show whose it is. */
static bool escapes(LLVMValueRef p) {
    for (LLVMUseRef u = LLVMGetFirstUse(p); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        int op = LLVMIsAInstruction(user) ? LLVMGetInstructionOpcode(user) : 0;
        bool stays =
            op == LLVMLoad || (op == LLVMStore && LLVMGetOperand(user, 0) != p) ||
            ((op == LLVMGetElementPtr || op == LLVMBitCast) && !escapes(user)) ||
            (op == LLVMCall && (is_call_of(user, "llvm.mem") || is_call_of(user, "llvm.dbg.")));
        if (!stays) return true;
    }
    return false;
}

uint64_t ir_local_bytes(const struct ir *ir, LLVMValueRef f) {
    uint64_t bytes = 0;
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(f);
    for (LLVMValueRef v = LLVMGetFirstInstruction(entry); v; v = LLVMGetNextInstruction(v))
        if (is_fixed(v)) bytes += ir_origin_of(ir, v).bytes;
    for (unsigned i = 0; i < LLVMCountParams(f); i++)
        if (ir_by_value(ir, LLVMGetParam(f, i)))
            bytes += ir_origin_of(ir, LLVMGetParam(f, i)).bytes;
    return bytes;
}

static void enter(struct ir *ir, LLVMValueRef variable, uint64_t bytes, unsigned *count) {
    LLVMValueRef arguments[] = {variable, ir_number(ir, bytes)};
    if (!escapes(variable)) return;
    ir_call(ir, "simt_ir_enter", arguments, 2);
    ++*count;
}

static void move_to_top(struct ir *ir, LLVMBasicBlockRef entry, const struct list *l) {
    for (size_t i = 0; i < l->count; i++) {
        if (!is_fixed(l->of[i]) || LLVMGetFirstInstruction(entry) == l->of[i]) continue;
        LLVMInstructionRemoveFromParent(l->of[i]);
        LLVMPositionBuilderBefore(ir->builder, LLVMGetFirstInstruction(entry));
        LLVMSetCurrentDebugLocation2(ir->builder, NULL);
        LLVMInsertIntoBuilder(ir->builder, l->of[i]);
    }
}

/* The builder goes behind the variables, at the function's line. */
static void go_to_body(struct ir *ir, LLVMValueRef f) {
    LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f));
    LLVMMetadataRef sub = LLVMGetSubprogram(f);
    while (LLVMIsAAllocaInst(first)) first = LLVMGetNextInstruction(first);
    LLVMPositionBuilderBefore(ir->builder, first);
    LLVMSetCurrentDebugLocation2(ir->builder,
                                 sub ? LLVMDIBuilderCreateDebugLocation(
                                           ir->context, LLVMDISubprogramGetLine(sub), 0, sub, NULL)
                                     : NULL);
}

/* Returns how many variables the function must take back before it returns. */
static unsigned enter_locals(struct ir *ir, LLVMValueRef f, const struct list *l) {
    LLVMValueRef poison = LLVMConstInt(LLVMInt8TypeInContext(ir->context), 0xff, 0);
    unsigned count = 0;
    move_to_top(ir, LLVMGetEntryBasicBlock(f), l);
    go_to_body(ir, f);
    for (size_t i = 0; i < l->count; i++) {
        LLVMValueRef v = l->of[i];
        if (LLVMIsAAllocaInst(v) && !is_fixed(v))
            ir_refuse(ir, v, "a local array has a size that the compiler knows");
        if (!is_fixed(v)) continue;
        uint64_t bytes = ir_origin_of(ir, v).bytes;
        LLVMBuildMemSet(ir->builder, v, poison, ir_number(ir, bytes), LLVMGetAlignment(v));
        enter(ir, v, bytes, &count);
    }
    for (unsigned i = 0; i < LLVMCountParams(f); i++) {
        LLVMValueRef p = LLVMGetParam(f, i);
        LLVMTypeRef type = ir_by_value(ir, p);
        if (type) enter(ir, p, LLVMABISizeOfType(ir->layout, type), &count);
    }
    return count;
}

/* ---- values that nobody computed --------------------------------------------------------------
 */

/* All ones, which is NaN, where that is possible; or NULL: such a type has no value. */
static LLVMValueRef poison_of(struct ir *ir, LLVMTypeRef type) {
    int kind = LLVMGetTypeKind(type);
    if (kind == LLVMPointerTypeKind || kind == LLVMStructTypeKind || kind == LLVMArrayTypeKind)
        return LLVMConstNull(type);
    if (kind != LLVMIntegerTypeKind && kind != LLVMFloatTypeKind && kind != LLVMDoubleTypeKind &&
        kind != LLVMHalfTypeKind && kind != LLVMVectorTypeKind)
        return NULL;
    unsigned bits = (unsigned)LLVMSizeOfTypeInBits(ir->layout, type);
    return LLVMConstBitCast(LLVMConstAllOnes(LLVMIntTypeInContext(ir->context, bits)), type);
}

/* A value that nobody computed would be what is left in a register: of an earlier thread, say. */
static void define_operands(struct ir *ir, LLVMValueRef v) {
    for (int i = 0; i < LLVMGetNumOperands(v); i++) {
        LLVMValueRef operand = LLVMGetOperand(v, (unsigned)i);
        LLVMValueRef value = LLVMIsUndef(operand) ? poison_of(ir, LLVMTypeOf(operand)) : NULL;
        if (value) LLVMSetOperand(v, (unsigned)i, value);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void mark_blocks(struct ir *ir, LLVMValueRef f) {
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b)) {
        LLVMValueRef v = LLVMGetFirstInstruction(b);
        while (LLVMGetInstructionOpcode(v) == LLVMPHI || LLVMIsAAllocaInst(v) ||
               LLVMGetInstructionOpcode(v) == LLVMLandingPad)
            v = LLVMGetNextInstruction(v);
        ir_go_before(ir, v);
        if (!LLVMInstructionGetDebugLoc(v) && LLVMGetSubprogram(f))
            LLVMSetCurrentDebugLocation2(
                ir->builder, LLVMDIBuilderCreateDebugLocation(
                                 ir->context, LLVMDISubprogramGetLine(LLVMGetSubprogram(f)), 0,
                                 LLVMGetSubprogram(f), NULL));
        LLVMValueRef site = ir_site(ir);
        ir_call(ir, "simt_ir_block", &site, 1);
    }
}

/* Code behind a place that is never reached would run, if it were: the next function, say. */
static void call_trap(struct ir *ir, LLVMValueRef before) {
    unsigned id = LLVMLookupIntrinsicID("llvm.trap", 9);
    LLVMPositionBuilderBefore(ir->builder, before);
    LLVMBuildCall2(ir->builder, LLVMFunctionType(ir->nothing, NULL, 0, 0),
                   LLVMGetIntrinsicDeclaration(ir->module, id, NULL, 0), NULL, 0, "");
}
