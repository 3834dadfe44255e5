/* access.c: which accesses an instruction makes, and the call before each of them. */
#include "ir.h"

#include <stdio.h>
#include <string.h>

enum { BUILT_IN_BYTES = 12, WORD = 4, LARGEST_VALUE = 64 };
static const char *const built_in[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
bool ir_is_built_in(LLVMValueRef v) {
    bool of_others = v && LLVMIsAGlobalVariable(v) && LLVMIsDeclaration(v);
    for (size_t i = 0; of_others && i < sizeof built_in / sizeof *built_in; i++)
        if (ir_name_is(v, built_in[i])) return true;
    return false;
}

/* A constant, whose reads nobody counts: of this file, or one of the four variables of CUDA. */
static bool is_constant(struct ir *ir, LLVMValueRef at, struct ir_origin *o, bool write) {
    if (!o->base || !LLVMIsAGlobalVariable(o->base) || !LLVMIsGlobalConstant(o->base)) return false;
    if (write) ir_refuse(ir, at, "a write to %s, which is constant", ir_name(o->base));
    if (!LLVMIsDeclaration(o->base)) return true;
    if (!ir_is_built_in(o->base)) return false;
    o->bytes = BUILT_IN_BYTES;
    return true;
}

static void call_for_range(struct ir *ir, struct ir_access a) {
    LLVMValueRef arguments[] = {ir_freeze(ir, a.at, a.operand),
                                a.count ? a.count : ir_number(ir, a.bytes),
                                ir_number(ir, a.piece ? a.piece : WORD), ir_site(ir)};
    ir_call(ir, a.write ? "simt_ir_write_range" : "simt_ir_read_range", arguments, 4);
}

LLVMValueRef ir_freeze(struct ir *ir, LLVMValueRef at, unsigned operand) {
    LLVMValueRef v = LLVMGetOperand(at, operand);
    if (LLVMIsAArgument(v) || LLVMIsAGlobalVariable(v) || LLVMIsAAllocaInst(v) ||
        LLVMIsAConstantInt(v))
        return v;
    LLVMValueRef frozen = LLVMBuildFreeze(ir->builder, v, "");
    LLVMSetOperand(at, operand, frozen);
    return frozen;
}

void ir_access(struct ir *ir, struct ir_access a) {
    struct ir_origin o = ir_origin_of(ir, LLVMGetOperand(a.at, a.operand));
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(a.at, a.operand))))
        ir_refuse(ir, a.at, "an address space of the compiler's; a plain pointer, please");
    bool one = a.bytes == 1 || a.bytes == 2 || a.bytes == 4 || a.bytes == 8 || a.bytes == 16;
    if (ir_is_local(o) || is_constant(ir, a.at, &o, a.write)) {
        bool counted = ir->locals_in_memory && ir_is_local(o);
        if (!counted && !a.count && o.exact && o.offset >= 0 &&
            (uint64_t)o.offset + a.bytes <= o.bytes)
            return;
        LLVMValueRef arguments[] = {o.base, ir_number(ir, o.bytes), ir_freeze(ir, a.at, a.operand),
                                    a.count ? a.count : ir_number(ir, a.bytes), ir_site(ir)};
        ir_call(ir, "simt_ir_local", arguments, 5);
    } else if (a.count || a.piece || !one) {
        call_for_range(ir, a);
    } else {
        char name[48];
        snprintf(name, sizeof name, "simt_ir_%s%s%d", a.is_volatile ? "volatile_" : "",
                 a.write ? "write" : "read", (int)a.bytes);
        LLVMValueRef arguments[] = {ir_freeze(ir, a.at, a.operand), ir_site(ir)};
        ir_call(ir, name, arguments, 2);
    }
}

/* A load or a store. An ordered one is an atomic of the compiler's own. */
static void moves(struct ir *ir, LLVMValueRef v, LLVMTypeRef type, bool write) {
    uint64_t bytes = LLVMStoreSizeOfType(ir->layout, type);
    unsigned alignment = LLVMGetAlignment(v);
    struct ir_origin o = ir_origin_of(ir, LLVMGetOperand(v, write));
    if (o.base && !strncmp(ir_name(o.base), "_ZGV", 4)) /* whether it has its value yet */
        ir_refuse(ir, v,
                  "a static variable of a function starts with a constant; or make it local");
    if (LLVMGetOrdering(v) != LLVMAtomicOrderingNotAtomic)
        ir_refuse(ir, v, "an atomic of the compiler's; write atomicAdd and its kin, as nvcc wants");
    ir_access(ir, (struct ir_access){.at = v,
                                     .operand = write,
                                     .bytes = bytes,
                                     .write = write,
                                     .is_volatile = LLVMGetVolatile(v),
                                     .piece = alignment >= bytes ? 0
                                              : alignment < WORD ? alignment
                                                                 : WORD});
}

static bool only_computes(int op) {
    static const unsigned char list[] = {LLVMRet,
                                         LLVMBr,
                                         LLVMSwitch,
                                         LLVMUnreachable,
                                         LLVMFNeg,
                                         LLVMAdd,
                                         LLVMFAdd,
                                         LLVMSub,
                                         LLVMFSub,
                                         LLVMMul,
                                         LLVMFMul,
                                         LLVMUDiv,
                                         LLVMSDiv,
                                         LLVMFDiv,
                                         LLVMURem,
                                         LLVMSRem,
                                         LLVMFRem,
                                         LLVMShl,
                                         LLVMLShr,
                                         LLVMAShr,
                                         LLVMAnd,
                                         LLVMOr,
                                         LLVMXor,
                                         LLVMGetElementPtr,
                                         LLVMTrunc,
                                         LLVMZExt,
                                         LLVMSExt,
                                         LLVMFPToUI,
                                         LLVMFPToSI,
                                         LLVMUIToFP,
                                         LLVMSIToFP,
                                         LLVMFPTrunc,
                                         LLVMFPExt,
                                         LLVMPtrToInt,
                                         LLVMIntToPtr,
                                         LLVMBitCast,
                                         LLVMICmp,
                                         LLVMFCmp,
                                         LLVMPHI,
                                         LLVMSelect,
                                         LLVMFreeze,
                                         LLVMFence,
                                         LLVMExtractElement,
                                         LLVMInsertElement,
                                         LLVMShuffleVector,
                                         LLVMAlloca,
                                         LLVMExtractValue,
                                         LLVMInsertValue};
    return memchr(list, op, sizeof list) != NULL;
}

void ir_instruction(struct ir *ir, LLVMValueRef v) {
    int op = LLVMGetInstructionOpcode(v);
    ir_go_before(ir, v);
    if (LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMVoidTypeKind &&
        LLVMABISizeOfType(ir->layout, LLVMTypeOf(v)) > LARGEST_VALUE)
        ir_refuse(ir, v, "a value of more than 64 bytes; a local array, please");
    if (op == LLVMLoad)
        moves(ir, v, LLVMTypeOf(v), false);
    else if (op == LLVMStore)
        moves(ir, v, LLVMTypeOf(LLVMGetOperand(v, 0)), true);
    else if (op == LLVMCall)
        ir_calls(ir, v);
    else if (!only_computes(op))
        ir_refuse(ir, v,
                  "compiles to something that no kernel is made of: an atomic of the compiler's, "
                  "an exception, a jump to a computed place");
}
