/* ir.h: the instrumenter's state, and the functions that its files share. */
#ifndef SIMT_IR_IR_H
#define SIMT_IR_IR_H

#include "instrument.h"
#include "llvm_c.h"

#include <stdbool.h>

/* A place in the text. */
struct ir_place {
    const char *file; /* as the user named it; not terminated */
    unsigned length, line;
};

enum { REGISTER_BYTES = 255 * 4 }; /* of a GPU's thread */

struct ir {
    const char *kernel; /* NULL: a whole program */
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTargetDataRef layout;
    LLVMTypeRef nothing, byte_pointer, i32, i64;
    unsigned byval, align; /* kinds of attributes */
    char *message;
    size_t cap;
    unsigned sites;
    struct ir_place last; /* whose file's name is last_file */
    LLVMValueRef last_file;
    bool refused, broken;
    bool locals_in_memory; /* they are more than a thread has registers */
    struct ir_registers *registers;
    uint64_t spilled_bytes;
};

/* ir.c */
/* Refuses the file: file and line of the instruction, or of the function; then the sentence. The
 * first refusal is kept. Does nothing in a whole program. */
void ir_refuse(struct ir *ir, LLVMValueRef at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
const char *ir_name(LLVMValueRef v);
bool ir_name_is(LLVMValueRef v, const char *name);
LLVMValueRef ir_number(const struct ir *ir, uint64_t n);
/* A constant string, as a byte pointer. */
LLVMValueRef ir_string(struct ir *ir, const char *text, size_t n);
/* Calls a function of the runtime that returns nothing: addresses as byte pointers. */
void ir_call(struct ir *ir, const char *name, LLVMValueRef *arguments, int n);
/* The builder's place is before this instruction, and at its line. */
void ir_go_before(struct ir *ir, LLVMValueRef instruction);

/* place.c: lines */
/* The user's own line: outside of simt's and the system's headers where it is inlined from them. */
struct ir_place ir_place_of(LLVMValueRef instruction_or_function);
/* A record of the line where the builder is, in the section that check_site.c reads. */
LLVMValueRef ir_site(struct ir *ir);

/* origin.c: where a pointer comes from */
struct ir_origin {
    LLVMValueRef base; /* a local variable, a parameter passed by value, a global; NULL: unknown */
    uint64_t bytes;    /* of the base */
    bool exact;        /* the offset is known */
    int64_t offset;
};
struct ir_origin ir_origin_of(const struct ir *ir, LLVMValueRef pointer);
bool ir_is_local(struct ir_origin o);
/* Of a constant string that the pointer points to, NUL included; NULL: it isn't known to be one. */
const char *ir_literal(const struct ir *ir, LLVMValueRef pointer, size_t *n);
/* The type of a parameter that is passed by value in memory; or NULL. */
LLVMTypeRef ir_by_value(const struct ir *ir, LLVMValueRef parameter);

/* access.c */
/* An access of `bytes`, or of `count` where that isn't NULL, through that operand of an
 * instruction. piece: where it is less aligned than it is large, the bytes that a GPU moves at a
 * time, at most 4; else 0. */
struct ir_access {
    LLVMValueRef at, count;
    unsigned operand;
    uint64_t bytes;
    unsigned piece;
    bool write, is_volatile;
};
void ir_access(struct ir *ir, struct ir_access a);
/* threadIdx and its kin: a declaration of that name. */
bool ir_is_built_in(LLVMValueRef variable);
/* That operand, made one value. What nobody computed (undef) may be another value at each use: the
 * call would get one address and the access another. */
LLVMValueRef ir_freeze(struct ir *ir, LLVMValueRef at, unsigned operand);
void ir_instruction(struct ir *ir, LLVMValueRef v);

/* call.c: calls, and which of them a kernel may make */
void ir_calls(struct ir *ir, LLVMValueRef call);

/* function.c: one function: its locals, its instructions, its blocks */
void ir_function(struct ir *ir, LLVMValueRef f);
uint64_t ir_local_bytes(const struct ir *ir, LLVMValueRef f); /* of its variables */

/* registers.c */
/* The most bytes that the values of a function, and of those that it calls, take at one time;
 * REGISTER_BYTES at most, as others are spilled. */
uint64_t ir_registers_of(struct ir *ir, LLVMValueRef f);
/* Counts the function's spilled values as memory. The new calls aren't to be instrumented. */
void ir_spill(struct ir *ir, LLVMValueRef f);

/* module.c: what concerns the file as a whole */
void ir_module_prepare(struct ir *ir); /* what is kept */
void ir_module_check(struct ir *ir);   /* after what isn't kept is gone: variables */
void ir_module_register(struct ir *ir, LLVMValueRef kernel); /* after: kernel and variables */

#endif
