/* origin.c: follows a pointer back to the variable that it points into. */
#include "ir.h"

#include <string.h>

LLVMTypeRef ir_by_value(const struct ir *ir, LLVMValueRef parameter) {
    LLVMValueRef f = LLVMGetParamParent(parameter);
    for (unsigned i = 0; i < LLVMCountParams(f); i++) {
        if (LLVMGetParam(f, i) != parameter) continue;
        LLVMAttributeRef a = LLVMGetEnumAttributeAtIndex(f, i + 1, ir->byval);
        return a ? LLVMGetTypeAttributeValue(a) : NULL;
    }
    return NULL;
}

/* Adds the offset of a getelementptr; false when it depends on a value. */
static bool add_offset(const struct ir *ir, LLVMValueRef gep, int64_t *offset) {
    LLVMTypeRef t = LLVMGetGEPSourceElementType(gep);
    for (int i = 1; i < LLVMGetNumOperands(gep); i++) {
        LLVMValueRef index = LLVMGetOperand(gep, (unsigned)i);
        if (!LLVMIsAConstantInt(index)) return false;
        int64_t k = LLVMConstIntGetSExtValue(index), add;
        if (i > 1 && LLVMGetTypeKind(t) == LLVMStructTypeKind) {
            add = (int64_t)LLVMOffsetOfElement(ir->layout, t, (unsigned)k);
            t = LLVMStructGetTypeAtIndex(t, (unsigned)k);
        } else {
            if (i > 1) t = LLVMGetElementType(t);
            if (__builtin_mul_overflow(k, (int64_t)LLVMABISizeOfType(ir->layout, t), &add))
                return false;
        }
        if (__builtin_add_overflow(*offset, add, offset)) return false;
    }
    return true;
}

static bool variable(const struct ir *ir, LLVMValueRef p, struct ir_origin *o) {
    LLVMTypeRef t = NULL;
    if (LLVMIsAAllocaInst(p)) {
        t = LLVMGetAllocatedType(p);
        o->bytes =
            LLVMConstIntGetZExtValue(LLVMGetOperand(p, 0)); /* its length, 1 but for alloca() */
    } else if (LLVMIsAArgument(p)) {
        t = ir_by_value(ir, p);
        o->bytes = 1;
    } else if (LLVMIsAGlobalVariable(p)) {
        t = LLVMGlobalGetValueType(p);
        o->bytes = 1;
    }
    if (!t) return false;
    o->bytes *= LLVMABISizeOfType(ir->layout, t);
    o->base = p;
    return true;
}

struct ir_origin ir_origin_of(const struct ir *ir, LLVMValueRef p) {
    struct ir_origin o = {.exact = true};
    for (;;) {
        bool counted = !LLVMIsAAllocaInst(p) || LLVMIsAConstantInt(LLVMGetOperand(p, 0));
        if (!counted || variable(ir, p, &o)) return o;
        bool constant = LLVMIsAConstantExpr(p);
        if (!constant && !LLVMIsAInstruction(p)) return o;
        int op = constant ? LLVMGetConstOpcode(p) : LLVMGetInstructionOpcode(p);
        if (op == LLVMGetElementPtr)
            o.exact = o.exact && add_offset(ir, p, &o.offset);
        else if (op != LLVMBitCast)
            return o;
        p = LLVMGetOperand(p, 0);
    }
}

bool ir_is_local(struct ir_origin o) {
    return o.base && !LLVMIsAGlobalVariable(o.base);
}

const char *ir_literal(const struct ir *ir, LLVMValueRef p, size_t *n) {
    struct ir_origin o = ir_origin_of(ir, p);
    if (!o.base || !LLVMIsAGlobalVariable(o.base) || !LLVMIsGlobalConstant(o.base) ||
        LLVMIsDeclaration(o.base) || !o.exact || o.offset < 0 || (uint64_t)o.offset >= o.bytes)
        return NULL;
    LLVMValueRef value = LLVMGetInitializer(o.base);
    if (!LLVMIsConstantString(value)) return NULL;
    const char *text = LLVMGetAsString(value, n) + o.offset;
    *n -= (size_t)o.offset;
    return memchr(text, 0, *n) ? text : NULL;
}
