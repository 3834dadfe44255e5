/* energy.c: see energy.h. The prototypes are those of nvml.h; 0 is success. */
#include "backend/energy.h"

#include "base/buffer.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct energy_meter {
    int (*total)(void *device, unsigned long long *millijoules);
    void *device;
};

static int choose_device(void *lib, void **device, struct err *e);

struct energy_meter *energy_open(struct err *e) {
    const char *given = getenv("SERVELAB_LIBNVML"), *name = given ? given : "libnvidia-ml.so.1";
    void *lib = dlopen(name, RTLD_NOW), *device;
    struct energy_meter *m = NULL;
    if (!lib) {
        err_set(e, "there is no NVML here (%.200s)", name);
        return NULL;
    }
    int (*init)(void);
    *(void **)&init = dlsym(lib, "nvmlInit_v2");
    if (!init || init()) {
        err_set(e, "NVML (%.200s) doesn't start", name);
        return NULL;
    }
    if (choose_device(lib, &device, e)) return NULL;
    m = malloc(sizeof *m);
    if (!m) {
        err_set(e, "out of memory");
        return NULL;
    }
    m->device = device;
    *(void **)&m->total = dlsym(lib, "nvmlDeviceGetTotalEnergyConsumption");
    if (!m->total || isnan(energy_joules(m))) {
        err_set(e, "this GPU or its NVML has no energy counter");
        free(m);
        return NULL;
    }
    return m;
}

/* The GPU that CUDA takes as its first. */
static int choose_device(void *lib, void **device, struct err *e) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    unsigned count = 0;
    int (*count_of)(unsigned *);
    int (*by_index)(unsigned, void **), (*by_uuid)(const char *, void **);
    *(void **)&count_of = dlsym(lib, "nvmlDeviceGetCount_v2");
    *(void **)&by_index = dlsym(lib, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&by_uuid = dlsym(lib, "nvmlDeviceGetHandleByUUID");
    if (!count_of || !by_index || !by_uuid || count_of(&count) || !count)
        return err_set(e, "NVML sees no GPU");
    if (visible && !strncmp(visible, "GPU-", 4)) {
        char uuid[96];
        text_cut(uuid, sizeof uuid, visible);
        uuid[strcspn(uuid, ",")] = '\0';
        if (by_uuid(uuid, device) == 0) return 0;
        return err_set(e, "NVML knows no GPU %s (CUDA_VISIBLE_DEVICES)", uuid);
    }
    if (count > 1)
        return err_set(e,
                       "there are %u GPUs, and NVML numbers them in another way than CUDA; name "
                       "one by its UUID in CUDA_VISIBLE_DEVICES (nvidia-smi -L)",
                       count);
    return by_index(0, device) ? err_set(e, "NVML refuses the GPU") : 0;
}

double energy_joules(struct energy_meter *m) {
    unsigned long long millijoules;
    return m->total(m->device, &millijoules) ? (double)NAN : 1e-3 * (double)millijoules;
}

void energy_close(struct energy_meter *m) {
    free(m); /* NVML stays loaded, as the driver does */
}
