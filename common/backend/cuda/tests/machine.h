/* machine.h: opens the CUDA backend on the CPU, for the tests. */
#ifndef SERVELAB_BACKEND_CUDA_TESTS_MACHINE_H
#define SERVELAB_BACKEND_CUDA_TESTS_MACHINE_H

#include "backend/cpu/tests/feeding.h"
#include "backend/cuda/cuda.h"

/* The plug-in lies beside the program, which SERVELAB names. */
static inline void machine_find(void) {
    const char *program = getenv("SERVELAB");
    char path[4096];
    snprintf(path, sizeof path, "%s", program ? program : "build/bin/servelab");
    char *slash = strrchr(path, '/');
    snprintf(slash ? slash + 1 : path, 32, "backend-simt.so");
    setenv("SERVELAB_SIMT", path, 0);
}

static inline struct backend *machine_open_with(const struct backend_config *c,
                                                enum cuda_precision precision) {
    struct err e;
    struct backend_cuda_options o = {.machine = CUDA_SIMT, .precision = precision};
    machine_find();
    struct backend *b = backend_cuda_create(c, &o, &e);
    ck_assert_msg(b != NULL, "%s %s", b ? "" : e.field, b ? "" : e.text);
    return b;
}

#endif
