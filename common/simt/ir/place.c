/* place.c: file and line of an instruction, and the records that the runtime reads them from. */
#include "ir.h"

#include <string.h>

static bool is_ours(const char *file, unsigned n) {
    static const char own[] = "simt/include/";
    return memmem(file, n, own, sizeof own - 1) || (n > 13 && !memcmp(file, "/usr/include/", 13)) ||
           (n > 9 && !memcmp(file, "/usr/lib/", 9));
}

static struct ir_place place(LLVMMetadataRef scope, unsigned line) {
    struct ir_place p = {.file = "", .line = line};
    LLVMMetadataRef file = scope ? LLVMDIScopeGetFile(scope) : NULL;
    if (file) p.file = LLVMDIFileGetFilename(file, &p.length);
    if (!p.file) p = (struct ir_place){.file = ""};
    while (p.length > 2 && p.file[0] == '.' && p.file[1] == '/') p.file += 2, p.length -= 2;
    return p;
}

/* Goes out of inlined functions until the file is the user's. */
static struct ir_place user_place(LLVMMetadataRef location) {
    struct ir_place p = {.file = ""};
    for (; location; location = LLVMDILocationGetInlinedAt(location)) {
        p = place(LLVMDILocationGetScope(location), LLVMDILocationGetLine(location));
        if (p.length && p.line && !is_ours(p.file, p.length)) return p;
    }
    return (struct ir_place){.file = ""};
}

struct ir_place ir_place_of(LLVMValueRef v) {
    struct ir_place p = {.file = ""};
    LLVMValueRef f = LLVMIsAFunction(v) ? v : NULL;
    if (LLVMIsAInstruction(v)) {
        p = user_place(LLVMInstructionGetDebugLoc(v));
        f = LLVMGetBasicBlockParent(LLVMGetInstructionParent(v));
    }
    LLVMMetadataRef sub = !p.length && f ? LLVMGetSubprogram(f) : NULL;
    return sub ? place(sub, LLVMDISubprogramGetLine(sub)) : p;
}

LLVMValueRef ir_site(struct ir *ir) {
    enum { MOST = 200000 }; /* check_site.c tells places of 16 bytes apart within 16 MiB */
    if (++ir->sites > MOST) ir_refuse(ir, NULL, "more accesses than a kernel has: is it unrolled?");
    struct ir_place p = user_place(LLVMGetCurrentDebugLocation2(ir->builder));
    LLVMTypeRef fields[] = {ir->byte_pointer, ir->i64};
    LLVMTypeRef type = LLVMStructTypeInContext(ir->context, fields, 2, 0);
    bool same =
        ir->last_file && p.length == ir->last.length && !memcmp(p.file, ir->last.file, p.length);
    if (!same && p.length) ir->last = p, ir->last_file = ir_string(ir, p.file, p.length);
    LLVMValueRef file = p.length ? ir->last_file : LLVMConstNull(ir->byte_pointer);
    LLVMValueRef values[] = {file, ir_number(ir, p.line)};
    LLVMValueRef site = LLVMAddGlobal(ir->module, type, "");
    LLVMSetInitializer(site, LLVMConstStructInContext(ir->context, values, 2, 0));
    LLVMSetLinkage(site, LLVMInternalLinkage);
    LLVMSetSection(site, "simt_sites");
    LLVMSetAlignment(site, 16);
    return site;
}
