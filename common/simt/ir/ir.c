/* ir.c: see instrument.h. Reads the bitcode, lets the other files work on it, writes the object. */
#include "ir.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_module(struct ir *ir, const char *bitcode);
static void passes(struct ir *ir, const char *pipeline);
static void functions(struct ir *ir);
static int write_object(struct ir *ir, const char *object);

int instrument(const char *clang, const char *bitcode, const char *object, const char *kernel,
               char *message, size_t cap) {
    struct ir ir = {.kernel = kernel, .message = message, .cap = cap};
    message[0] = 0;
    if (llvm_load(clang, message, cap) || read_module(&ir, bitcode)) return INSTRUMENT_FAILED;
    ir_module_prepare(&ir);
    /* Lanes that go on a way of their own need a block on it. */
    passes(&ir, "globaldce,function(break-crit-edges)");
    ir_module_check(&ir);
    if (!ir.refused && !ir.broken) functions(&ir);
    if (ir.refused) return INSTRUMENT_REFUSED;
    return ir.broken || write_object(&ir, object) ? INSTRUMENT_FAILED : INSTRUMENT_DONE;
}

int instrument_ready(const char *clang, char *message, size_t cap) {
    if (llvm_load(clang, message, cap)) return -1;
    snprintf(message, cap, "%s", llvm_path());
    return 0;
}

static int read_module(struct ir *ir, const char *bitcode) {
    LLVMMemoryBufferRef buffer;
    char *why = NULL;
    ir->context = LLVMContextCreate();
    if (LLVMCreateMemoryBufferWithContentsOfFile(bitcode, &buffer, &why) ||
        LLVMParseBitcodeInContext2(ir->context, buffer, &ir->module)) {
        snprintf(ir->message, ir->cap, "%s: not bitcode that this libLLVM reads", bitcode);
        return -1;
    }
    ir->builder = LLVMCreateBuilderInContext(ir->context);
    ir->layout = LLVMGetModuleDataLayout(ir->module);
    ir->nothing = LLVMVoidTypeInContext(ir->context);
    ir->i32 = LLVMInt32TypeInContext(ir->context);
    ir->i64 = LLVMInt64TypeInContext(ir->context);
    ir->byte_pointer = LLVMPointerType(LLVMInt8TypeInContext(ir->context), 0);
    ir->byval = LLVMGetEnumAttributeKindForName("byval", 5);
    ir->align = LLVMGetEnumAttributeKindForName("align", 5);
    return 0;
}

static void passes(struct ir *ir, const char *pipeline) {
    LLVMErrorRef e = LLVMRunPasses(ir->module, pipeline, NULL, LLVMCreatePassBuilderOptions());
    if (!e) return;
    snprintf(ir->message, ir->cap, "%s: %s", pipeline, LLVMGetErrorMessage(e));
    ir->broken = true;
}

/* The list is made first: instrumenting adds declarations, and registration adds functions. */
static void functions(struct ir *ir) {
    size_t n = 0;
    LLVMValueRef f, *list,
        kernel = ir->kernel ? LLVMGetNamedFunction(ir->module, ir->kernel) : NULL;
    for (f = LLVMGetFirstFunction(ir->module); f; f = LLVMGetNextFunction(f)) n++;
    list = calloc(n + 1, sizeof *list);
    if (!list) exit(INSTRUMENT_FAILED);
    n = 0;
    for (f = LLVMGetFirstFunction(ir->module); f; f = LLVMGetNextFunction(f)) list[n++] = f;
    uint64_t local = 0;
    for (size_t i = 0; i < n; i++)
        if (LLVMCountBasicBlocks(list[i])) local += ir_local_bytes(ir, list[i]);
    if (kernel) ir_registers_of(ir, kernel);
    ir->locals_in_memory = ir->kernel && local > REGISTER_BYTES;
    for (size_t i = 0; i < n && !ir->refused; i++)
        if (LLVMCountBasicBlocks(list[i])) ir_function(ir, list[i]);
    free(list);
    if (kernel && !ir->refused) ir_module_register(ir, kernel);
}

/* SIMTCC_IR names a file for the result as text, for looking. */
static int write_object(struct ir *ir, const char *object) {
    const char *triple = LLVMGetTarget(ir->module), *look = getenv("SIMTCC_IR");
    const char *cpu = strncmp(triple, "x86_64", 6) == 0 ? "x86-64" : "generic";
    char *why = NULL;
    LLVMTargetRef target;
    if (look && *look) LLVMPrintModuleToFile(ir->module, look, &why);
    if (LLVMVerifyModule(ir->module, LLVMReturnStatusAction, &why)) {
        snprintf(ir->message, ir->cap, "the instrumented code is not valid: %s", why);
        return -1;
    }
    if (llvm_load_target(triple, ir->message, ir->cap)) return -1;
    if (LLVMGetTargetFromTriple(triple, &target, &why) ||
        LLVMTargetMachineEmitToFile(LLVMCreateTargetMachine(target, triple, cpu, "",
                                                            LLVMCodeGenLevelDefault, LLVMRelocPIC,
                                                            LLVMCodeModelDefault),
                                    ir->module, object, LLVMObjectFile, &why)) {
        snprintf(ir->message, ir->cap, "%s", why);
        return -1;
    }
    return 0;
}

/* ---- what the other files share -------------------------------------------------------------- */

void ir_refuse(struct ir *ir, LLVMValueRef at, const char *format, ...) {
    if (!ir->kernel || ir->refused) return;
    struct ir_place where = at ? ir_place_of(at) : (struct ir_place){0};
    int n = 0;
    if (where.length)
        n = snprintf(ir->message, ir->cap, "%.*s:%u: error: ", (int)where.length, where.file,
                     where.line);
    else
        n = snprintf(ir->message, ir->cap, "%s.cu:0: error: ", ir->kernel);
    va_list ap;
    va_start(ap, format);
    if (n >= 0 && (size_t)n < ir->cap) vsnprintf(ir->message + n, ir->cap - (size_t)n, format, ap);
    va_end(ap);
    ir->refused = true;
}

const char *ir_name(LLVMValueRef v) {
    size_t n;
    return LLVMGetValueName2(v, &n);
}

bool ir_name_is(LLVMValueRef v, const char *name) {
    return strcmp(ir_name(v), name) == 0;
}

LLVMValueRef ir_number(const struct ir *ir, uint64_t n) {
    return LLVMConstInt(ir->i64, n, 0);
}

LLVMValueRef ir_string(struct ir *ir, const char *text, size_t n) {
    LLVMTypeRef type = LLVMArrayType(LLVMInt8TypeInContext(ir->context), (unsigned)n + 1);
    LLVMValueRef s = LLVMAddGlobal(ir->module, type, "");
    LLVMSetInitializer(s, LLVMConstStringInContext(ir->context, text, (unsigned)n, 0));
    LLVMSetGlobalConstant(s, 1);
    LLVMSetLinkage(s, LLVMPrivateLinkage);
    return LLVMConstBitCast(s, ir->byte_pointer);
}

void ir_call(struct ir *ir, const char *name, LLVMValueRef *arguments, int n) {
    enum { MOST = 6 };
    LLVMTypeRef types[MOST];
    LLVMValueRef values[MOST];
    for (int i = 0; i < n; i++) {
        bool pointer = LLVMGetTypeKind(LLVMTypeOf(arguments[i])) == LLVMPointerTypeKind;
        values[i] = pointer ? LLVMBuildPointerCast(ir->builder, arguments[i], ir->byte_pointer, "")
                            : arguments[i];
        types[i] = LLVMTypeOf(values[i]);
    }
    LLVMTypeRef type = LLVMFunctionType(ir->nothing, types, (unsigned)n, 0);
    LLVMValueRef f = LLVMGetNamedFunction(ir->module, name);
    if (!f) f = LLVMAddFunction(ir->module, name, type);
    LLVMBuildCall2(ir->builder, type, f, values, (unsigned)n, "");
}

void ir_go_before(struct ir *ir, LLVMValueRef instruction) {
    LLVMPositionBuilderBefore(ir->builder, instruction);
    LLVMSetCurrentDebugLocation2(ir->builder, LLVMInstructionGetDebugLoc(instruction));
}
