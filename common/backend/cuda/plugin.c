/* plugin.c: finds and loads a plug-in of the CUDA backend. See cuda.h. */
#include "backend/cuda/plugin.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name, *variable, *file, *next;
} machines[] = {
    [CUDA_GPU] = {"cuda", "SERVELAB_CUDA", "backend-cuda.so",
                  "`make cuda` makes it where nvcc is; --backend simt needs no GPU"},
    [CUDA_SIMT] = {"simt", "SERVELAB_SIMT", "backend-simt.so",
                   "`make build` makes it where g++ or clang++ is"},
};

static bool is_whole(const char *path);

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
    out[0] = '\0';
    if (slash) snprintf(out, cap, "%.*s%s", (int)(slash - self + 1), self, machines[machine].file);
    return out;
}

/* A plug-in stays loaded: its threads and its driver's never end. */
struct backend *backend_cuda_create(const struct backend_config *c,
                                    const struct backend_cuda_options *o, struct err *e) {
    char path[PATH_MAX];
    backend_cuda_plugin(o->machine, path, sizeof path);
    if (!path[0]) {
        err_at(e, 0, machines[o->machine].name,
               "the backend's file is not found: /proc doesn't say where this program lies; name "
               "the file %s in %s",
               machines[o->machine].file, machines[o->machine].variable);
        return NULL;
    }
    if (access(path, R_OK)) {
        err_at(e, 0, machines[o->machine].name, "the backend's file %.150s is not there; %s", path,
               machines[o->machine].next);
        return NULL;
    }
    if (!is_whole(path)) {
        err_at(e, 0, machines[o->machine].name,
               "the backend's file %.150s is not a whole shared object; %s", path,
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

/* dlopen waits for ever on a FIFO, and a file that is cut off, or whose header is overwritten, ends
 * the process: so the file is examined first. Its segments lie in it where dlopen maps them. */
static bool segments_fit(int fd, uint64_t size) {
    Elf64_Ehdr h;
    if (pread(fd, &h, sizeof h, 0) != sizeof h || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
        h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_type != ET_DYN ||
        h.e_phentsize != sizeof(Elf64_Phdr))
        return false;
    bool dynamic = false;
    for (uint64_t i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr p;
        uint64_t at = h.e_phoff + i * sizeof p;
        if (h.e_phoff > size || at + sizeof p > size ||
            pread(fd, &p, sizeof p, (off_t)at) != sizeof p)
            return false;
        dynamic |= p.p_type == PT_DYNAMIC;
        if (p.p_filesz && (p.p_offset > size || p.p_filesz > size - p.p_offset)) return false;
    }
    return dynamic;
}

static bool is_whole(const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool whole = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
                 segments_fit(fd, (uint64_t)st.st_size);
    if (fd >= 0) close(fd);
    return whole;
}
