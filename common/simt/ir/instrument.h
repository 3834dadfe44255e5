/* instrument.h: puts a call of the checking runtime before every access to memory in a compiled
 * kernel file, and writes the object.
 *
 * The input is the bitcode that clang emits after -O2. At that place no attribute, macro, name or
 * kind of operand of the source text is left that could hide an access: an access is a load, a
 * store, a copy, an operand passed by value, or a library function that writes through a pointer,
 * and each of them gets its call. Each call carries its own place in the text, so that no later
 * step of the compiler can make two accesses one.
 *
 *   simt_ir_*        what is called: runtime/check_access.c
 *   local variables  An access that provably stays inside its variable needs no call. Any other
 *                    access to the stack must hit a local variable that is alive (check_local.c).
 *                    On entry a function's locals are filled with 0xff: NaN where nobody wrote.
 *                    A kernel's values in registers that nobody computed are NaN or all ones, too.
 *                    More of them than a thread's registers hold (1,020 bytes) count as global
 *                    memory; a recursion and a value of more than 64 bytes are refused.
 *   registers        Values that are alive at one time have 1,020 bytes, too. Of more, some count
 * as stored and loaded (registers.c). basic blocks     each calls the runtime too, which brings
 * diverged lanes together by them
 *
 * With a kernel's name the file is one kernel for the grader, and everything is refused that isn't
 * known to be harmless: functions outside of a list (names with their signatures), calls through
 * pointers, assembly, exceptions, unknown instructions and intrinsics, foreign variables. Nothing
 * but the kernel can be named from outside; constructors are dropped; the object brings its own
 * registration of the kernel, its launcher, and of device variables.
 *
 * Without a name the file is a whole program, host code included. Nothing is refused, constructors
 * stay, and simt's own launchers aren't instrumented.
 */
#ifndef SIMT_IR_INSTRUMENT_H
#define SIMT_IR_INSTRUMENT_H

#include <stddef.h>

enum { INSTRUMENT_DONE = 0, INSTRUMENT_REFUSED = 1, INSTRUMENT_FAILED = 4 };

/* clang: the compiler that wrote the bitcode; its libLLVM does the work (llvm_c.h). kernel may be
 * NULL. message gets "file:line: error: ..." when the file is REFUSED, a sentence when the work
 * FAILED. */
int instrument(const char *clang, const char *bitcode, const char *object, const char *kernel,
               char *message, size_t cap);

/* Whether this clang's libLLVM can be loaded: 0 with its path in message, or -1 with a sentence. */
int instrument_ready(const char *clang, char *message, size_t cap);

#endif
