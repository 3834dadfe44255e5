/* call.c: what a call reads and writes, and which functions a kernel may call.
 *
 * A function is known by its name and its whole signature: a declaration of one's own that gives a
 * name other parameters isn't that function.
 */
#include "ir.h"

#include "../include/simt_abi.h"

#include <stdio.h>
#include <string.h>

/* A signature: what is returned, then the parameters in brackets. v nothing, i 32 bits, l 64 bits,
 * f float, d double, p a pointer; ... ends a list. In mathematics d is float for the name with f.
 * `writes`: the parameter through which it writes a number of `bytes` (0: of the function's own
 * type); the two last parameters are such for sincos. */
struct known {
    const char *name, *signature;
    int writes, bytes;
};

static const struct known mathematics[] = {
    {"acos", "d(d)", 0, 0},      {"acosh", "d(d)", 0, 0},      {"asin", "d(d)", 0, 0},
    {"asinh", "d(d)", 0, 0},     {"atan", "d(d)", 0, 0},       {"atan2", "d(dd)", 0, 0},
    {"atanh", "d(d)", 0, 0},     {"cbrt", "d(d)", 0, 0},       {"ceil", "d(d)", 0, 0},
    {"copysign", "d(dd)", 0, 0}, {"cos", "d(d)", 0, 0},        {"cosh", "d(d)", 0, 0},
    {"erf", "d(d)", 0, 0},       {"erfc", "d(d)", 0, 0},       {"exp", "d(d)", 0, 0},
    {"exp10", "d(d)", 0, 0},     {"exp2", "d(d)", 0, 0},       {"expm1", "d(d)", 0, 0},
    {"fabs", "d(d)", 0, 0},      {"fdim", "d(dd)", 0, 0},      {"floor", "d(d)", 0, 0},
    {"fma", "d(ddd)", 0, 0},     {"fmax", "d(dd)", 0, 0},      {"fmin", "d(dd)", 0, 0},
    {"fmod", "d(dd)", 0, 0},     {"hypot", "d(dd)", 0, 0},     {"ilogb", "i(d)", 0, 0},
    {"j0", "d(d)", 0, 0},        {"j1", "d(d)", 0, 0},         {"ldexp", "d(di)", 0, 0},
    {"lgamma", "d(d)", 0, 0},    {"llrint", "l(d)", 0, 0},     {"llround", "l(d)", 0, 0},
    {"log", "d(d)", 0, 0},       {"log10", "d(d)", 0, 0},      {"log1p", "d(d)", 0, 0},
    {"log2", "d(d)", 0, 0},      {"logb", "d(d)", 0, 0},       {"lrint", "l(d)", 0, 0},
    {"lround", "l(d)", 0, 0},    {"nearbyint", "d(d)", 0, 0},  {"nextafter", "d(dd)", 0, 0},
    {"pow", "d(dd)", 0, 0},      {"remainder", "d(dd)", 0, 0}, {"rint", "d(d)", 0, 0},
    {"round", "d(d)", 0, 0},     {"scalbln", "d(dl)", 0, 0},   {"scalbn", "d(di)", 0, 0},
    {"sin", "d(d)", 0, 0},       {"sinh", "d(d)", 0, 0},       {"sqrt", "d(d)", 0, 0},
    {"tan", "d(d)", 0, 0},       {"tanh", "d(d)", 0, 0},       {"tgamma", "d(d)", 0, 0},
    {"trunc", "d(d)", 0, 0},     {"y0", "d(d)", 0, 0},         {"y1", "d(d)", 0, 0},
    {"frexp", "d(dp)", 1, 4},    {"modf", "d(dp)", 1, 0},      {"remquo", "d(ddp)", 2, 4},
    {"sincos", "v(dpp)", 1, 0}};

/* The runtime's functions that follow no pointer of the caller's, or only one to its own text. */
static const struct known runtime[] = {{"simt_barrier", "i(iii)", 0, 0},
                                       {"simt_fence", "v()", 0, 0},
                                       {"simt_fence_block", "v()", 0, 0},
                                       {"simt_syncwarp", "v(ii)", 0, 0},
                                       {"simt_active_mask", "i()", 0, 0},
                                       {"simt_early_return", "v()", 0, 0},
                                       {"simt_lane", "i()", 0, 0},
                                       {"simt_thread_rank", "i()", 0, 0},
                                       {"simt_shared_dynamic", "p()", 0, 0},
                                       {"simt_clock", "l()", 0, 0},
                                       /* these do and count the access themselves */
                                       {"simt_atomic_load", "l(pl)", 0, 0},
                                       {"simt_atomic_store", "v(pll)", 0, 0},
                                       /* these end the program */
                                       {"simt_trap", "v(ppi)", 0, 0},
                                       {"__assert_fail", "v(ppip)", 0, 0},
                                       {"__ubsan_handle_out_of_bounds_abort", "v(pl)", 0, 0}};

/* Intrinsics that compute, or that tell the compiler something. Names without their types. */
static const char *const intrinsics[] = {"abs",
                                         "acos",
                                         "annotation",
                                         "asin",
                                         "assume",
                                         "atan",
                                         "atan2",
                                         "bitreverse",
                                         "bswap",
                                         "canonicalize",
                                         "ceil",
                                         "copysign",
                                         "cos",
                                         "cosh",
                                         "ctlz",
                                         "ctpop",
                                         "cttz",
                                         "dbg.assign",
                                         "dbg.declare",
                                         "dbg.label",
                                         "dbg.value",
                                         "donothing",
                                         "exp",
                                         "exp10",
                                         "exp2",
                                         "expect",
                                         "expect.with.probability",
                                         "experimental.noalias.scope.decl",
                                         "fabs",
                                         "floor",
                                         "fma",
                                         "fmuladd",
                                         "fptosi.sat",
                                         "fptoui.sat",
                                         "frexp",
                                         "fshl",
                                         "fshr",
                                         "is.constant",
                                         "is.fpclass",
                                         "ldexp",
                                         "lifetime.end",
                                         "lifetime.start",
                                         "llrint",
                                         "llround",
                                         "log",
                                         "log10",
                                         "log2",
                                         "lrint",
                                         "lround",
                                         "maximum",
                                         "maximumnum",
                                         "maxnum",
                                         "minimum",
                                         "minimumnum",
                                         "minnum",
                                         "modf",
                                         "nearbyint",
                                         "objectsize",
                                         "pow",
                                         "powi",
                                         "rint",
                                         "round",
                                         "roundeven",
                                         "sadd.sat",
                                         "sadd.with.overflow",
                                         "scmp",
                                         "sin",
                                         "sincos",
                                         "sincospi",
                                         "sinh",
                                         "smax",
                                         "smin",
                                         "smul.with.overflow",
                                         "sqrt",
                                         "ssub.sat",
                                         "ssub.with.overflow",
                                         "tan",
                                         "tanh",
                                         "trap",
                                         "trunc",
                                         "uadd.sat",
                                         "uadd.with.overflow",
                                         "ubsantrap",
                                         "ucmp",
                                         "umax",
                                         "umin",
                                         "umul.with.overflow",
                                         "usub.sat",
                                         "usub.with.overflow",
                                         "vector.reduce.add",
                                         "vector.reduce.and",
                                         "vector.reduce.fadd",
                                         "vector.reduce.fmax",
                                         "vector.reduce.fmin",
                                         "vector.reduce.fmul",
                                         "vector.reduce.mul",
                                         "vector.reduce.or",
                                         "vector.reduce.smax",
                                         "vector.reduce.smin",
                                         "vector.reduce.umax",
                                         "vector.reduce.umin",
                                         "vector.reduce.xor"};

static void by_value_operands(struct ir *ir, LLVMValueRef call);
static bool intrinsic(struct ir *ir, LLVMValueRef call, LLVMValueRef f);
static bool library(struct ir *ir, LLVMValueRef call, LLVMValueRef f);
static bool of_runtime(struct ir *ir, LLVMValueRef call, LLVMValueRef f);
static void prints(struct ir *ir, LLVMValueRef call);

static bool fits(LLVMValueRef f, const char *signature, bool single);

void ir_calls(struct ir *ir, LLVMValueRef call) {
    LLVMValueRef f = LLVMGetCalledValue(call);
    by_value_operands(ir, call);
    if (LLVMIsAInlineAsm(f)) {
        ir_refuse(ir, call, "inline assembly; CUDA C only, please, as the CPU can't run PTX");
        return;
    }
    bool named = LLVMIsAFunction(f) != NULL;
    unsigned convention = LLVMGetInstructionCallConv(call);
    if (!named || LLVMGetCalledFunctionType(call) != LLVMGlobalGetValueType(f) ||
        convention != LLVMGetFunctionCallConv(f)) {
        ir_refuse(ir, call,
                  "a call through a pointer, which neither the counts nor a GPU's compiler can "
                  "follow; call the function by its name, or make it a template's argument");
        return;
    }
    if (convention != LLVMCCallConv && convention != LLVMFastCallConv)
        ir_refuse(ir, call, "%s has a calling convention of its own", ir_name(f));
    LLVMSetTailCall(call, 0); /* a function's locals live until its calls have returned */
    if (LLVMCountBasicBlocks(f)) return;
    if (ir_name_is(f, "simt_atomic_load")) {
        LLVMValueRef a[] = {ir_freeze(ir, call, 0), LLVMGetOperand(call, 1), ir_site(ir)};
        ir_call(ir, "simt_ir_atomic", a, 3);
    }
    if (intrinsic(ir, call, f) || library(ir, call, f) || !ir->kernel) return;
    if (ir_name_is(f, "printf") && fits(f, "i(p...)", false)) {
        prints(ir, call);
        return;
    }
    if (!of_runtime(ir, call, f))
        ir_refuse(ir, call,
                  "%s isn't a device function: a kernel computes, and can't open, print to, end "
                  "or ask anything else. printf and assert are there for looking",
                  ir_name(f));
}

/* A structure passed by value is read here, where it is copied. */
static void by_value_operands(struct ir *ir, LLVMValueRef call) {
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        LLVMAttributeRef a = LLVMGetCallSiteEnumAttribute(call, i + 1, ir->byval);
        if (!a) continue;
        uint64_t bytes = LLVMABISizeOfType(ir->layout, LLVMGetTypeAttributeValue(a));
        ir_access(ir, (struct ir_access){.at = call, .operand = i, .bytes = bytes, .piece = 4});
    }
}

/* ---- signatures ------------------------------------------------------------------------------ */

static bool is_type(LLVMTypeRef t, char c) {
    int kind = LLVMGetTypeKind(t);
    if (c == 'v') return kind == LLVMVoidTypeKind;
    if (c == 'f') return kind == LLVMFloatTypeKind;
    if (c == 'd') return kind == LLVMDoubleTypeKind;
    if (c == 'p') return kind == LLVMPointerTypeKind;
    return kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(t) == (c == 'i' ? 32 : 64);
}

static bool fits(LLVMValueRef f, const char *signature, bool single) {
    enum { MOST = 8 };
    LLVMTypeRef type = LLVMGlobalGetValueType(f), types[MOST];
    unsigned n = LLVMCountParamTypes(type);
    const char *c = strchr(signature, '(') + 1;
    if (n > MOST ||
        !is_type(LLVMGetReturnType(type), single && signature[0] == 'd' ? 'f' : signature[0]))
        return false;
    LLVMGetParamTypes(type, types);
    for (unsigned i = 0; i < n; i++, c++)
        if (*c == ')' || *c == '.' || !is_type(types[i], single && *c == 'd' ? 'f' : *c))
            return false;
    return LLVMIsFunctionVarArg(type) ? *c == '.' : *c == ')';
}

/* ---- the library's functions ----------------------------------------------------------------- */

static const struct known *find_mathematics(LLVMValueRef f, bool *single) {
    const char *name = ir_name(f);
    for (size_t i = 0; i < sizeof mathematics / sizeof *mathematics; i++) {
        size_t n = strlen(mathematics[i].name);
        if (strncmp(name, mathematics[i].name, n) != 0) continue;
        *single = name[n] == 'f' && !name[n + 1];
        if ((!name[n] || *single) && fits(f, mathematics[i].signature, *single))
            return &mathematics[i];
    }
    return NULL;
}

static bool library(struct ir *ir, LLVMValueRef call, LLVMValueRef f) {
    static const char *const wide[] = {"__divti3",  "__modti3",      "__udivti3",
                                       "__umodti3", "__popcountdi2", "__multi3"};
    bool single = false;
    const struct known *k = find_mathematics(f, &single);
    unsigned n = LLVMGetNumArgOperands(call);
    for (size_t i = 0; !k && i < sizeof wide / sizeof *wide; i++)
        if (ir_name_is(f, wide[i])) return true;
    for (unsigned i = k && k->writes ? (unsigned)k->writes : n; i < n; i++)
        ir_access(ir, (struct ir_access){.at = call,
                                         .operand = i,
                                         .bytes = k->bytes ? (uint64_t)k->bytes
                                                  : single ? 4
                                                           : 8,
                                         .write = true});
    return k != NULL;
}

/* ---- intrinsics ------------------------------------------------------------------------------ */

/* memcpy, memmove, memset: where, from where or what, how many, volatile. A copy of a constant
 * length that isn't aligned to it moves in words, as a GPU moves a structure. */
static void block_copy(struct ir *ir, LLVMValueRef call, bool copies) {
    LLVMValueRef length = LLVMGetOperand(call, 2);
    bool constant = LLVMIsAConstantInt(length) != NULL;
    struct ir_access a = {.at = call, .bytes = constant ? LLVMConstIntGetZExtValue(length) : 0};
    if (!constant)
        a.count = LLVMBuildZExtOrBitCast(ir->builder, ir_freeze(ir, call, 2), ir->i64, "");
    for (unsigned side = copies ? 2 : 1; side >= 1; side--) {
        LLVMAttributeRef known = LLVMGetCallSiteEnumAttribute(call, side, ir->align);
        uint64_t alignment = known ? LLVMGetEnumAttributeValue(known) : 1;
        if (a.bytes % 4 == 0 && alignment < a.bytes) a.piece = 4;
    }
    if (constant && !a.bytes) return;
    a.operand = 1;
    if (copies) ir_access(ir, a);
    a.operand = 0, a.write = true;
    ir_access(ir, a);
}

static bool intrinsic(struct ir *ir, LLVMValueRef call, LLVMValueRef f) {
    unsigned id = LLVMGetIntrinsicID(f);
    size_t n = 0;
    const char *name = id ? LLVMIntrinsicGetName(id, &n) : NULL;
    if (!name) {
        if (strncmp(ir_name(f), "llvm.", 5) != 0) return false;
        name = ir_name(f);
        n = strlen(name);
    }
    if (n < 5 || strncmp(name, "llvm.", 5) != 0) return false;
    name += 5, n -= 5;
    char plain[64];
    snprintf(plain, sizeof plain, "%.*s", (int)(n < 63 ? n : 63), name);
    size_t end = strlen(plain);
    if (end && plain[end - 1] == '.') plain[end - 1] = 0;
    bool sets = !strcmp(plain, "memset") || !strcmp(plain, "memset.inline");
    bool copies =
        !strcmp(plain, "memcpy") || !strcmp(plain, "memmove") || !strcmp(plain, "memcpy.inline");
    if (sets || copies) {
        block_copy(ir, call, copies);
        return true;
    }
    for (size_t i = 0; i < sizeof intrinsics / sizeof *intrinsics; i++)
        if (!strcmp(intrinsics[i], plain)) return true;
    ir_refuse(ir, call, "compiles to llvm.%s, an operation that isn't known to be a kernel's",
              plain);
    return true;
}

/* ---- the runtime ----------------------------------------------------------------------------- */

static bool is_below(LLVMValueRef v, uint64_t bound) {
    return LLVMIsAConstantInt(v) && LLVMConstIntGetZExtValue(v) < bound;
}

/* A matrix product reads and writes through the address in its third operand. */
static bool warp_operation_is_fine(struct ir *ir, LLVMValueRef call) {
    LLVMValueRef op = LLVMGetOperand(call, 0), value = LLVMGetOperand(call, 2);
    if (!is_below(op, SIMT_OPS)) return false;
    if (LLVMConstIntGetZExtValue(op) != SIMT_OP_MMA) return true;
    if (!LLVMIsAPtrToIntInst(value)) return false;
    struct ir_origin o = ir_origin_of(ir, LLVMGetOperand(value, 0));
    return o.base && LLVMIsAAllocaInst(o.base) && o.exact && o.offset >= 0 &&
           (uint64_t)o.offset + sizeof(struct simt_mma) <= o.bytes;
}

/* simt_shared's first operand is a record that nothing else uses: the runtime writes to it. */
static bool is_shared_record(LLVMValueRef v) {
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        if (LLVMIsAConstantExpr(user) && is_shared_record(user)) continue;
        if (!LLVMIsACallInst(user) || !LLVMIsAFunction(LLVMGetCalledValue(user)) ||
            !ir_name_is(LLVMGetCalledValue(user), "simt_shared"))
            return false;
    }
    return true;
}

static bool shared_is_fine(struct ir *ir, LLVMValueRef call) {
    enum { LARGEST = 1 << 20 }; /* more than any block has */
    struct ir_origin o = ir_origin_of(ir, LLVMGetOperand(call, 0));
    return is_below(LLVMGetOperand(call, 1), LARGEST) &&
           is_below(LLVMGetOperand(call, 2), LARGEST) && o.base && LLVMIsAGlobalVariable(o.base) &&
           !LLVMIsDeclaration(o.base) && o.exact && !o.offset &&
           o.bytes == sizeof(simt_shared_var) && is_shared_record(o.base);
}

static bool of_runtime(struct ir *ir, LLVMValueRef call, LLVMValueRef f) {
    enum { BARRIER_KINDS = 4, LARGEST_ATOMIC = 8 };
    bool atomic = !strncmp(ir_name(f), "simt_atomic_", 12);
    if (ir_name_is(f, "simt_warp_op") && fits(f, "l(iilii)", false))
        return warp_operation_is_fine(ir, call);
    if (ir_name_is(f, "simt_shared") && fits(f, "p(pll)", false)) return shared_is_fine(ir, call);
    for (size_t i = 0; i < sizeof runtime / sizeof *runtime; i++)
        if (ir_name_is(f, runtime[i].name) && fits(f, runtime[i].signature, false))
            return atomic ? is_below(LLVMGetOperand(call, 1), LARGEST_ATOMIC + 1)
                          : !ir_name_is(f, "simt_barrier") ||
                                is_below(LLVMGetOperand(call, 1), BARRIER_KINDS);
    return false;
}

/* printf may look at numbers and at text that stands in the file. */
static void prints(struct ir *ir, LLVMValueRef call) {
    size_t n = 0;
    unsigned next = 1, given = LLVMGetNumArgOperands(call);
    const char *format = ir_literal(ir, LLVMGetOperand(call, 0), &n);
    bool fine = format && !LLVMGetFirstUse(call); /* the number of characters tells of the text */
    for (const char *p = format; fine && *p; p++) {
        if (*p != '%') continue;
        for (p++; *p && strchr("0123456789.-+ #lhzjt*", *p); p++) next += *p == '*';
        if (*p == '%') continue;
        size_t length = 0;
        fine = *p && strchr("diuxXofFeEgGaAcps", *p) && next < given &&
               (*p != 's' || ir_literal(ir, LLVMGetOperand(call, next), &length));
        next++;
    }
    if (!fine)
        ir_refuse(ir, call,
                  "printf here takes a format that is a literal, with numbers, and its "
                  "result isn't used: other forms follow pointers whose accesses aren't counted");
}
