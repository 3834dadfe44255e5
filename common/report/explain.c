/* explain.c: see explain.h. The page is in the program through the assembler's .incbin, so there is
 * one source of definitions. The path is relative to the top of the tree, where make runs;
 * module.mk names the file as a prerequisite. */
#include "report/explain.h"

__asm__(".section .rodata\n"
        ".global report_definitions_text\n"
        "report_definitions_text:\n.incbin \"common/DEFINITIONS.md\"\n.byte 0\n.previous\n");
extern const char report_definitions_text[];

const char *report_definitions(void) {
    return report_definitions_text;
}
