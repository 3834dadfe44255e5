/* corpus.cuh: what the kernels of the two corpora share: cases by name, guards around memory.
 *
 * A file of either corpus is a program: with names it runs those cases, without any it runs all,
 * and with --list it says which it has. A case returns whether the answer is right (correct/) or
 * whether what the fault aimed at is untouched (faults/); each gives one line, "ok NAME" or "not ok
 * NAME".
 *
 * In faults/ a comment marks the line that check mode must name, "// FAULT: kind", and "// OTHER"
 * the line of a race's earlier access. Code between two cases belongs to the later one.
 *
 * All of it is CUDA that nvcc takes too.
 */
#ifndef SIMT_TESTS_CORPUS_CUH
#define SIMT_TESTS_CORPUS_CUH

#include "../tap.cuh"
#include <cstring>

struct corpus_case {
    const char *name;
    bool (*run)();
    corpus_case *next;
    static corpus_case *&first() {
        static corpus_case *list;
        return list;
    }
    corpus_case(const char *n, bool (*r)()) : name(n), run(r), next(nullptr) {
        corpus_case **end = &first();
        while (*end) end = &(*end)->next;
        *end = this;
    }
};
#define CASE(name)                                                                                 \
    static bool case_##name();                                                                     \
    static corpus_case entry_##name(#name, case_##name);                                           \
    static bool case_##name()

static bool corpus_wanted(const char *name, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0) return true;
    return argc < 2;
}

int main(int argc, char **argv) {
    bool list = argc == 2 && strcmp(argv[1], "--list") == 0, good = true;
    for (corpus_case *c = corpus_case::first(); c; c = c->next) {
        if (list) printf("%s\n", c->name);
        if (list || !corpus_wanted(c->name, argc, argv)) continue;
        bool right = c->run();
        good &= right;
        printf("%sok %s\n", right ? "" : "not ", c->name);
        fflush(stdout);
    }
    return !good;
}

/* n numbers, each between 0 and 15, the same ones every time. */
template <class T> std::vector<T> some(int n) {
    std::vector<T> v(n);
    unsigned u = 12345;
    for (int i = 0; i < n; i++) u = u * 1664525 + 1013904223, v[i] = (T)(float)(u >> 28);
    return v;
}
template <class T> T total(const std::vector<T> &v) {
    T sum = 0;
    for (size_t i = 0; i < v.size(); i++) sum += v[i];
    return sum;
}

/* Bytes that must not change. On the CPU device memory can be read as it is, even where no
 * allocation lies; on a GPU nothing is read, and the guard always holds. */
#if defined(__SIMT__) && defined(__clang__)
#define CORPUS_UNSEEN __attribute__((no_sanitize("thread"), annotate("simt unseen"), noinline))
#elif defined(__SIMT__)
#define CORPUS_UNSEEN __attribute__((no_sanitize("thread"), noinline))
#else
#define CORPUS_UNSEEN
#endif
struct guard {
    enum { BYTES = 64 };
    const volatile char *at;
    char before[BYTES];
    explicit guard(const void *start) : at((const volatile char *)start) {
        look();
    }
    CORPUS_UNSEEN void look() {
#ifdef __SIMT__
        for (int i = 0; i < BYTES; i++) before[i] = at[i];
#endif
    }
    CORPUS_UNSEEN bool holds() const {
#ifdef __SIMT__
        for (int i = 0; i < BYTES; i++)
            if (before[i] != at[i]) return false;
#endif
        return true;
    }
};

#endif
