/* plugin.c: finds and loads a plug-in of the CUDA backend. See cuda.h. */
#include "backend/cuda/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name, *variable, *file, *next;
} machines[] = {
    [CUDA_GPU] = {"cuda", "SERVELAB_CUDA", "backend-cuda.so",
                  "`make cuda` makes it where nvcc is; --backend simt needs no GPU"},
    [CUDA_SIMT] = {"simt", "SERVELAB_SIMT", "backend-simt.so",
                   "`make build` makes it where g++ or clang++ is"},
};

const char *backend_cuda_plugin(enum cuda_machine machine, char *out, size_t cap) {
    const char *asked = getenv(machines[machine].variable);
    if (asked && *asked) {
        snprintf(out, cap, "%s%s", strchr(asked, '/') ? "" : "./", asked); /* or dlopen searches */
        return out;
    }
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    snprintf(out, cap, "%.*s%s", slash ? (int)(slash - self + 1) : 0, self, machines[machine].file);
    return out;
}

/* A plug-in stays loaded: its threads and its driver's never end. */
struct backend *backend_cuda_create(const struct backend_config *c,
                                    const struct backend_cuda_options *o, struct err *e) {
    char path[PATH_MAX];
    backend_cuda_plugin(o->machine, path, sizeof path);
    if (access(path, R_OK)) {
        err_at(e, 0, machines[o->machine].name, "the backend's file %.150s is not there; %s", path,
               machines[o->machine].next);
        return NULL;
    }
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        err_at(e, 0, machines[o->machine].name,
               "the backend's file %.120s can't be loaded: %.150s; %s", path, dlerror(),
               machines[o->machine].next);
        return NULL;
    }
    cuda_plugin_abi *abi = (cuda_plugin_abi *)dlsym(plugin, CUDA_PLUGIN_ABI_NAME);
    cuda_plugin_create *create = (cuda_plugin_create *)dlsym(plugin, CUDA_PLUGIN_CREATE_NAME);
    if (abi && create && abi() == CUDA_PLUGIN_ABI) return create(c, o, e);
    err_at(e, 0, machines[o->machine].name,
           "the backend's file %.150s is not of this program's build; %s", path,
           machines[o->machine].next);
    return NULL;
}
