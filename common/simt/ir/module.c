/* module.c: what concerns the file as a whole: what a kernel file may hold, what can be named from
 * outside, and how kernel and device variables become known to the runtime. */
#include "ir.h"

#include "../include/simt_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void delete_global(struct ir *ir, const char *name);
static void hide(struct ir *ir, LLVMValueRef kernel);

void ir_module_prepare(struct ir *ir) {
    size_t assembly = 0;
    if (!ir->kernel) return;
    LLVMGetModuleInlineAsm(ir->module, &assembly);
    if (assembly) ir_refuse(ir, NULL, "assembly outside of functions; CUDA C only, please");
    if (LLVMGetFirstGlobalIFunc(ir->module))
        ir_refuse(ir, NULL, "a function in several versions; write one");
    for (LLVMValueRef a = LLVMGetFirstGlobalAlias(ir->module); a; a = LLVMGetNextGlobalAlias(a)) {
        LLVMReplaceAllUsesWith(a, LLVMAliasGetAliasee(a)); /* a second name, as of constructors */
        LLVMSetLinkage(a, LLVMInternalLinkage);
    }
    delete_global(ir, "llvm.global_ctors"); /* what runs before a kernel */
    delete_global(ir, "llvm.global_dtors");
    delete_global(ir, "llvm.global.annotations");
    LLVMValueRef kernel = LLVMGetNamedFunction(ir->module, ir->kernel);
    if (!kernel || !LLVMCountBasicBlocks(kernel)) {
        ir_refuse(ir, NULL, "this file doesn't define the kernel %s", ir->kernel);
        return;
    }
    hide(ir, kernel);
}

static void delete_global(struct ir *ir, const char *name) {
    LLVMValueRef g = LLVMGetNamedGlobal(ir->module, name);
    if (g) LLVMDeleteGlobal(g);
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_runtimes(const char *name) {
    return !strncmp(name, "simt_", 5) || !strncmp(name, "__tsan", 6) ||
           !strncmp(name, "__sanitizer", 11) || !strncmp(name, "__ubsan", 7) ||
           !strncmp(name, "llvm.", 5);
}

/* Internal, and in a section of the compiler's choice. */
static void hide_one(LLVMValueRef v, int linkage) {
    LLVMSetVisibility(v, 0);
    LLVMSetLinkage(v, linkage);
    LLVMSetComdat(v, NULL);
}

/* simtcc puts __device__ and __constant__ variables there, in order and with padding between. */
#define DEVICE_SECTION "simt_device"
static bool in_order(LLVMValueRef g) {
    const char *s = LLVMGetSection(g);
    return s && strcmp(s, DEVICE_SECTION) == 0;
}

static void renew(struct ir *ir, LLVMValueRef g);

/* The code generator calls memset and the like by name, and must not find one in this file. */
static void take_name(LLVMValueRef f) {
    char name[256];
    int n = snprintf(name, sizeof name, "own.%s", ir_name(f));
    LLVMSetValueName2(f, name, n < (int)sizeof name ? (size_t)n : sizeof name - 1);
}

static void hide(struct ir *ir, LLVMValueRef kernel) {
    for (LLVMValueRef f = LLVMGetFirstFunction(ir->module); f; f = LLVMGetNextFunction(f)) {
        if (!LLVMCountBasicBlocks(f)) continue;
        if (is_runtimes(ir_name(f)))
            ir_refuse(ir, f, "%s is a name of what counts and checks your kernel", ir_name(f));
        hide_one(f, f == kernel ? LLVMExternalLinkage : LLVMInternalLinkage);
        if (f != kernel) take_name(f);
    }
    LLVMValueRef last = NULL, next, g;
    for (g = LLVMGetFirstGlobal(ir->module); g; g = LLVMGetNextGlobal(g)) last = g;
    for (g = LLVMGetFirstGlobal(ir->module); g; g = next) {
        next = g == last ? NULL : LLVMGetNextGlobal(g);
        if (!LLVMIsDeclaration(g)) renew(ir, g);
    }
}

/* Puts a variable of the same type, value and name in the place of this one, without its section,
 * attributes and linkage: one in .init_array would be a constructor, and a pragma asks for that,
 * too. */
static void renew(struct ir *ir, LLVMValueRef g) {
    size_t n = 0;
    if (ir_name_is(g, "llvm.used") || ir_name_is(g, "llvm.compiler.used")) return; /* lists */
    if (LLVMIsThreadLocal(g))
        ir_refuse(ir, NULL, "%s: a kernel's thread has its local variables", ir_name(g));
    if (!strncmp(ir_name(g), "llvm.", 5) || LLVMGetPointerAddressSpace(LLVMTypeOf(g)))
        ir_refuse(ir, NULL, "%s is a variable of the compiler's kind; a plain one, please",
                  ir_name(g));
    if (ir->refused) return;
    const char *name = LLVMGetValueName2(g, &n);
    LLVMValueRef plain = LLVMAddGlobal(ir->module, LLVMGlobalGetValueType(g), "");
    LLVMSetGlobalConstant(plain, LLVMIsGlobalConstant(g));
    LLVMSetAlignment(plain, LLVMGetAlignment(g));
    LLVMSetLinkage(plain, LLVMInternalLinkage);
    if (in_order(g)) LLVMSetSection(plain, DEVICE_SECTION);
    LLVMReplaceAllUsesWith(g, plain);
    LLVMSetInitializer(plain, LLVMGetInitializer(g)); /* which may hold its own address */
    char *kept = strndup(name, n);
    LLVMDeleteGlobal(g);
    if (!kept) exit(INSTRUMENT_FAILED);
    LLVMSetValueName2(plain, kept, n);
    free(kept);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* The address of a function of others would be a name that nothing has looked at: calls are looked
 * at one by one. */
static void check_functions(struct ir *ir) {
    for (LLVMValueRef f = LLVMGetFirstFunction(ir->module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMCountBasicBlocks(f)) continue;
        for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u)) {
            LLVMValueRef user = LLVMGetUser(u);
            if (!LLVMIsACallInst(user) || LLVMGetCalledValue(user) != f)
                ir_refuse(ir, NULL, "%s is a function of others, which can be called only",
                          ir_name(f));
        }
    }
}

static bool calls_one_of(LLVMValueRef f, const LLVMValueRef *list, size_t n) {
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v)) {
            if (!LLVMIsACallInst(v)) continue;
            for (size_t i = 0; i < n; i++)
                if (LLVMGetCalledValue(v) == list[i]) return true;
        }
    return false;
}

/* Takes functions away that call none of those left, until there is no such one. */
static void check_recursion(struct ir *ir) {
    enum { MOST_FUNCTIONS = 1000 };
    static LLVMValueRef left[MOST_FUNCTIONS];
    size_t n = 0, before;
    for (LLVMValueRef f = LLVMGetFirstFunction(ir->module); f; f = LLVMGetNextFunction(f)) {
        if (n == MOST_FUNCTIONS) ir_refuse(ir, f, "more functions than a kernel has");
        if (LLVMCountBasicBlocks(f) && n < MOST_FUNCTIONS) left[n++] = f;
    }
    do {
        before = n;
        for (size_t i = n; i-- > 0;)
            if (!calls_one_of(left[i], left, n)) left[i] = left[--n];
    } while (n && n < before);
    size_t shown = 0;
    while (shown + 1 < n && !calls_one_of(left[shown], &left[shown], 1)) shown++;
    if (n)
        ir_refuse(ir, left[shown],
                  "a recursion: what it keeps in each step lies in memory that nobody counts; a "
                  "loop, please");
}

void ir_module_check(struct ir *ir) {
    enum { LARGEST = 1 << 24 };
    uint64_t bytes = 0;
    if (!ir->kernel) return;
    check_functions(ir);
    check_recursion(ir);
    for (LLVMValueRef g = LLVMGetFirstGlobal(ir->module); g; g = LLVMGetNextGlobal(g)) {
        uint64_t more = LLVMABISizeOfType(ir->layout, LLVMGlobalGetValueType(g));
        if (!LLVMIsDeclaration(g) && ((bytes += more) > LARGEST || more > LARGEST))
            ir_refuse(ir, NULL, "the variables of this file take more than 16 MiB");
        if (is_runtimes(ir_name(g)) && strncmp(ir_name(g), "simt_bounds_", 12) != 0 &&
            strncmp(ir_name(g), "llvm.", 5) != 0)
            ir_refuse(ir, NULL, "%s is a name of what counts and checks your kernel", ir_name(g));
        bool ours = ir_name_is(g, "threadIdx") || ir_name_is(g, "blockIdx") ||
                    ir_name_is(g, "blockDim") || ir_name_is(g, "gridDim");
        if (!strncmp(ir_name(g), "_ZTV", 4))
            ir_refuse(ir, NULL,
                      "calls through a table can't be followed; call the function by its name");
        if (LLVMIsDeclaration(g) && LLVMGetFirstUse(g) && !ours)
            ir_refuse(ir, NULL, "%s is a variable of others, which is out of reach", ir_name(g));
    }
}

/* ---- registration ---------------------------------------------------------------------------- */

enum { MOST = 32 }; /* parameters of a kernel that the grader starts */

/* A record of the runtime's, filled with these constants; it is linked into the runtime's list. */
static LLVMValueRef record(struct ir *ir, LLVMValueRef *values, unsigned n) {
    LLVMTypeRef types[MOST];
    for (unsigned i = 0; i < n; i++) types[i] = LLVMTypeOf(values[i]);
    LLVMValueRef g =
        LLVMAddGlobal(ir->module, LLVMStructTypeInContext(ir->context, types, n, 0), "");
    LLVMSetInitializer(g, LLVMConstStructInContext(ir->context, values, n, 0));
    LLVMSetLinkage(g, LLVMInternalLinkage);
    return g;
}

/* _ZL5table is table. */
static LLVMValueRef plain_name(struct ir *ir, LLVMValueRef g) {
    const char *name = ir_name(g);
    unsigned n = 0;
    int at = 0;
    if (sscanf(name, "_ZL%u%n", &n, &at) == 1 && strlen(name + at) >= n) name += at;
    return ir_string(ir, name, n ? n : strlen(name));
}

/* simtcc leaves the address of each variable in a constant with this in its name. */
static void register_variables(struct ir *ir) {
    LLVMValueRef last = NULL, g;
    for (g = LLVMGetFirstGlobal(ir->module); g; g = LLVMGetNextGlobal(g)) last = g;
    for (g = LLVMGetFirstGlobal(ir->module); g; g = g == last ? NULL : LLVMGetNextGlobal(g)) {
        bool constant = strstr(ir_name(g), "simt_is_SIMT_SYMBOL_CONSTANT_") != NULL;
        if (!constant && !strstr(ir_name(g), "simt_is_SIMT_SYMBOL_DEVICE_")) continue;
        LLVMValueRef address = LLVMIsDeclaration(g) ? NULL : LLVMGetInitializer(g);
        struct ir_origin o = {0};
        if (address) o = ir_origin_of(ir, address);
        if (!o.base || LLVMIsGlobalConstant(o.base)) continue; /* the compiler's own constants */
        LLVMValueRef values[] = {
            LLVMConstBitCast(o.base, ir->byte_pointer), ir_number(ir, o.bytes),
            plain_name(ir, o.base),
            LLVMConstInt(ir->i32, constant ? SIMT_SYMBOL_CONSTANT : SIMT_SYMBOL_DEVICE, 0),
            LLVMConstNull(ir->byte_pointer)};
        LLVMValueRef symbol = record(ir, values, 5);
        ir_call(ir, "simt_register_symbol", &symbol, 1);
    }
}

/* void run(void *call): loads the arguments, then calls the kernel once for each thread. */
static LLVMValueRef launcher(struct ir *ir, LLVMValueRef kernel) {
    LLVMTypeRef type = LLVMFunctionType(ir->nothing, &ir->byte_pointer, 1, 0);
    LLVMTypeRef list = LLVMPointerType(ir->byte_pointer, 0);
    LLVMTypeRef next_type = LLVMFunctionType(ir->i32, NULL, 0, 0);
    LLVMValueRef run = LLVMAddFunction(ir->module, "simt_ir_run", type);
    LLVMValueRef next = LLVMAddFunction(ir->module, "simt_thread_next", next_type);
    LLVMBasicBlockRef start = LLVMAppendBasicBlockInContext(ir->context, run, ""),
                      loop = LLVMAppendBasicBlockInContext(ir->context, run, ""),
                      end = LLVMAppendBasicBlockInContext(ir->context, run, "");
    LLVMBuilderRef b = ir->builder;
    LLVMSetLinkage(run, LLVMInternalLinkage);
    LLVMPositionBuilderAtEnd(b, start);
    LLVMSetCurrentDebugLocation2(b, NULL);
    LLVMValueRef at = ir_number(ir, offsetof(struct simt_kernel_call, args));
    LLVMValueRef field =
        LLVMBuildGEP2(b, LLVMInt8TypeInContext(ir->context), LLVMGetParam(run, 0), &at, 1, "");
    LLVMValueRef args =
        LLVMBuildLoad2(b, list, LLVMBuildPointerCast(b, field, LLVMPointerType(list, 0), ""), "");
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef values[MOST];
    unsigned n = LLVMCountParams(kernel);
    for (unsigned i = 0; i < n && i < MOST; i++) {
        LLVMTypeRef of = LLVMTypeOf(LLVMGetParam(kernel, i));
        LLVMValueRef index = ir_number(ir, i);
        LLVMValueRef place = LLVMBuildGEP2(b, ir->byte_pointer, args, &index, 1, "");
        LLVMValueRef value = LLVMBuildLoad2(b, ir->byte_pointer, place, "");
        values[i] =
            LLVMBuildLoad2(b, of, LLVMBuildPointerCast(b, value, LLVMPointerType(of, 0), ""), "");
        if (n > MOST || ir_by_value(ir, LLVMGetParam(kernel, i)))
            ir_refuse(ir, kernel, "the grader's kernels take pointers and numbers");
    }
    if (!ir->refused) LLVMBuildCall2(b, LLVMGlobalGetValueType(kernel), kernel, values, n, "");
    LLVMValueRef more = LLVMBuildCall2(b, next_type, next, NULL, 0, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, more, LLVMConstInt(ir->i32, 0, 0), ""), loop,
                    end);
    LLVMPositionBuilderAtEnd(b, end);
    LLVMBuildRetVoid(b);
    return run;
}

/* simtcc leaves the number of __launch_bounds__ in a constant of this name. */
static uint64_t launch_bounds(struct ir *ir) {
    char name[80];
    snprintf(name, sizeof name, "simt_bounds_%.60s", ir->kernel);
    LLVMValueRef g = LLVMGetNamedGlobal(ir->module, name);
    LLVMValueRef value = g && !LLVMIsDeclaration(g) ? LLVMGetInitializer(g) : NULL;
    return value && LLVMIsAConstantInt(value) ? LLVMConstIntGetZExtValue(value) : 0;
}

/* The bytes of each parameter, one after the other. */
static LLVMValueRef sizes_of(struct ir *ir, LLVMValueRef kernel) {
    LLVMValueRef size[MOST];
    unsigned n = LLVMCountParams(kernel);
    if (n == 0 || n > MOST) return LLVMConstNull(ir->byte_pointer);
    for (unsigned i = 0; i < n; i++)
        size[i] = ir_number(ir, LLVMABISizeOfType(ir->layout, LLVMTypeOf(LLVMGetParam(kernel, i))));
    return LLVMConstBitCast(record(ir, size, n), ir->byte_pointer);
}

static void register_kernel(struct ir *ir, LLVMValueRef kernel, LLVMValueRef run) {
    struct ir_place p = ir_place_of(kernel);
    LLVMValueRef values[] = {LLVMConstBitCast(kernel, ir->byte_pointer),
                             ir_string(ir, ir->kernel, strlen(ir->kernel)),
                             ir_string(ir, p.file, p.length),
                             LLVMConstInt(ir->i32, p.line, 0),
                             LLVMConstInt(ir->i32, launch_bounds(ir), 0),
                             LLVMConstBitCast(run, ir->byte_pointer),
                             LLVMConstInt(ir->i32, LLVMCountParams(kernel), 0),
                             sizes_of(ir, kernel),
                             LLVMConstNull(ir->byte_pointer)};
    LLVMValueRef k = record(ir, values, 9);
    ir_call(ir, "simt_register_kernel", &k, 1);
}

void ir_module_register(struct ir *ir, LLVMValueRef kernel) {
    enum { LAST = 65535 }; /* its place among constructors */
    LLVMValueRef run = launcher(ir, kernel);
    LLVMValueRef f =
        LLVMAddFunction(ir->module, "simt_ir_register", LLVMFunctionType(ir->nothing, NULL, 0, 0));
    LLVMSetLinkage(f, LLVMInternalLinkage);
    LLVMPositionBuilderAtEnd(ir->builder, LLVMAppendBasicBlockInContext(ir->context, f, ""));
    LLVMSetCurrentDebugLocation2(ir->builder, NULL);
    LLVMPositionBuilderBefore(ir->builder, LLVMBuildRetVoid(ir->builder));
    register_variables(ir);
    if (ir->locals_in_memory) ir_call(ir, "simt_ir_locals_in_memory", NULL, 0);
    register_kernel(ir, kernel, run);
    LLVMValueRef fields[] = {LLVMConstInt(ir->i32, LAST, 0), f, LLVMConstNull(ir->byte_pointer)};
    LLVMValueRef one = LLVMConstStructInContext(ir->context, fields, 3, 0);
    LLVMValueRef all = LLVMConstArray(LLVMTypeOf(one), &one, 1);
    LLVMValueRef list = LLVMAddGlobal(ir->module, LLVMTypeOf(all), "llvm.global_ctors");
    LLVMSetInitializer(list, all);
    LLVMSetLinkage(list, LLVMAppendingLinkage);
}
