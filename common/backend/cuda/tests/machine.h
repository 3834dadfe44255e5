/* machine.h: opens the embedded model, and the CUDA backend on the CPU, for the tests. */
#ifndef SERVELAB_BACKEND_CUDA_TESTS_MACHINE_H
#define SERVELAB_BACKEND_CUDA_TESTS_MACHINE_H

#include "backend/cpu/tests/feeding.h"
#include "backend/cuda/cuda.h"
#include "base/home.h"
#include "model/model.h"

static inline struct model *machine_model(void) {
    char home[4096];
    struct err e;
    struct model *m = model_open(home_path(HOME_DEFAULT_MODEL, home, sizeof home), &e);
    ck_assert_msg(m != NULL, "%s", m ? "" : e.text);
    return m;
}

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
                                                struct backend_cuda_options o) {
    struct err e;
    o.machine = CUDA_SIMT;
    machine_find();
    struct backend *b = backend_cuda_create(c, &o, &e);
    ck_assert_msg(b != NULL, "%s %s", b ? "" : e.field, b ? "" : e.text);
    return b;
}

#endif
