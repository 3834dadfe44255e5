/* simt_launch.h: qualifiers, built-in variables, and how `k<<<g, b>>>(x)` reaches the runtime.
 *
 * __shared__, __noinline__ and `<<<>>>` are rewritten by simtcc, which also registers kernels and
 * device variables (simt_kernel_announced, simt_symbol_announced below).
 */
#ifndef SIMT_LAUNCH_H
#define SIMT_LAUNCH_H

#define __device_builtin__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n)    __attribute__((aligned(n)))
#define __grid_constant__

/* Constant for the life of a CUDA thread, so const here: reads of them aren't counted. The runtime
 * defines them as variables. Not thread-local in check mode, which has one OS thread, because clang
 * traces thread-locals. */
#ifdef SIMT_CHECK
extern "C" {
extern const simt_u3 threadIdx, blockIdx, blockDim, gridDim;
}
#else
extern "C" {
extern const __thread simt_u3 threadIdx __attribute__((tls_model("initial-exec")));
extern const __thread simt_u3 blockIdx __attribute__((tls_model("initial-exec")));
extern const __thread simt_u3 blockDim __attribute__((tls_model("initial-exec")));
extern const __thread simt_u3 gridDim __attribute__((tls_model("initial-exec")));
}
#endif
static constexpr int warpSize = 32;

/* simtcc writes `return;` in a kernel as { simt_leave(); return; } */
SIMT_INLINE void simt_leave() {
#ifdef SIMT_CHECK
    simt_early_return();
#endif
}

/* The launch configuration, and the launch's place in the text. */
struct simt_config {
    simt_u3 grid, block;
    size_t bytes;
    cudaStream_t stream;
    simt_config(dim3 g, dim3 b, size_t n = 0, cudaStream_t s = 0)
        : grid(g), block(b), bytes(n), stream(s) {}
};
struct simt_place {
    const char *kernel, *file;
    int line;
};

SIMT_INLINE SIMT_UNSEEN void simt_start(const simt_config &c, const simt_place &p,
                                        const void *function, void (*run)(void *), void *arg,
                                        size_t arg_bytes) {
    struct simt_launch l;
    l.grid = c.grid, l.block = c.block, l.dynamic_bytes = c.bytes, l.stream = c.stream;
    l.run = run, l.arg = arg, l.arg_bytes = arg_bytes, l.function = function;
    l.name = p.kernel, l.file = p.file, l.line = p.line;
    simt_launch(&l);
}

/* threadIdx is const, so a kernel inlined into the loop over threads would read it once for all of
 * them. So one thread's run is a call that the compiler can't inline. */
#ifdef __clang__
#define SIMT_APART __attribute__((noinline))
#else
#define SIMT_APART __attribute__((noipa))
#endif

/* A kernel whose type is known: arguments convert exactly as in a direct call. */
template <class... P> struct simt_typed {
    typedef void (*kernel)(P...);
    kernel k;
    std::tuple<P...> args;
    static inline __attribute__((always_inline)) kernel opaque(kernel k) {
        __asm__ volatile("" : "+r"(k));
        return k;
    }
    template <size_t... I> SIMT_UNSEEN void threads(std::index_sequence<I...>) {
        kernel f = opaque(k);
        do f(std::get<I>(args)...);
        while (simt_thread_next());
    }
    static SIMT_UNSEEN void run(void *self) {
        ((simt_typed *)self)->threads(std::index_sequence_for<P...>());
    }
    static void go(const simt_config &c, const simt_place &p, kernel k, P... a) {
        simt_typed self{k, std::tuple<P...>(a...)};
        simt_start(c, p, (const void *)k, run, &self, sizeof self);
    }
    /* the same from an array of pointers, for cudaLaunchKernel */
    template <size_t... I>
    static SIMT_UNSEEN void call_threads(kernel k, void **a, std::index_sequence<I...>) {
        (void)a;
        k = opaque(k);
        do k(*(typename std::remove_reference<P>::type *)a[I]...);
        while (simt_thread_next());
    }
    static SIMT_UNSEEN void run_call(void *call) {
        struct simt_kernel_call *c = (struct simt_kernel_call *)call;
        call_threads((kernel)c->kernel->function, c->args, std::index_sequence_for<P...>());
    }
};
template <class... P> simt_typed<P...> simt_type_of(void (*)(P...));

/* A template whose arguments the launch deduces: it needs a lambda. */
template <class F, class... A> struct simt_deduced {
    F f;
    std::tuple<A...> args;
    static SIMT_APART SIMT_UNSEEN void one(F &f, A &...a) {
        f(a...);
    }
    template <size_t... I> SIMT_UNSEEN void threads(std::index_sequence<I...>) {
        do one(f, std::get<I>(args)...);
        while (simt_thread_next());
    }
    static SIMT_UNSEEN void run(void *self) {
        ((simt_deduced *)self)->threads(std::index_sequence_for<A...>());
    }
};
template <class F, class... A>
static inline void simt_go_deduced(const simt_config &c, const simt_place &p, F f, A... a) {
    simt_deduced<F, A...> self{f, std::tuple<A...>(a...)};
    simt_start(c, p, nullptr, simt_deduced<F, A...>::run, &self, sizeof self);
}

/* What simtcc puts after a kernel's body and after a device variable. */
struct simt_kernel_announced {
    struct simt_kernel k;
    template <class... P>
    simt_kernel_announced(void (*f)(P...), const char *name, const char *file, int line,
                          int max_threads) {
        k.function = (const void *)f, k.name = name, k.file = file, k.line = line;
        k.max_threads = max_threads, k.run = simt_typed<P...>::run_call;
        static const size_t sizes[] = {sizeof(P)..., 0};
        k.parameters = (int)sizeof...(P), k.sizes = sizes, k.next = nullptr;
        simt_register_kernel(&k);
    }
};
struct simt_symbol_announced {
    struct simt_symbol s;
    template <class T> simt_symbol_announced(T *v, const char *name, enum simt_symbol_kind kind) {
        s.address = (void *)v, s.bytes = sizeof *v, s.name = name, s.kind = kind;
        s.next = nullptr;
        simt_register_symbol(&s);
    }
};

#endif
