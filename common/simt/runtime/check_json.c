/* check_json.c: the counts as JSON, per kernel and per source line, with Nsight Compute's names. */
#include "check_count.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The sums over the sites of one line, or of a kernel. */
struct sums {
    const char *file;
    int line;
    uint64_t requests[COUNT_KINDS][2], sectors[COUNT_KINDS], ideal[COUNT_KINDS], bytes[COUNT_KINDS];
    uint64_t waves, ideal_waves, barriers, divergent, lanes[COUNT_KINDS][2];
};

static const struct {
    const char *key, *metric;
} metrics[] = {
    {"global_load_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
    {"global_load_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
    {"global_store_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"},
    {"global_store_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"},
    {"global_atomic_requests", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum + "
                               "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"},
    {"global_atomic_sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum + "
                              "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"},
    {"shared_requests", "smsp__inst_executed_op_shared.sum"},
    {"shared_wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"},
    {"bytes_read", "smsp__sass_data_bytes_mem_global_op_ld.sum"},
    {"bytes_written", "smsp__sass_data_bytes_mem_global_op_st.sum"},
    {"footprint_bytes", "dram__bytes.sum, of an endless L2 cache that starts cold"},
    {"barriers", "BAR.SYNC instructions executed (source view), once a block instead of a warp"},
    {"divergent_branches", "smsp__sass_branch_targets_threads_divergent.sum"},
};

static void add(struct sums *t, const struct count_site *s) {
    t->barriers += s->barriers, t->divergent += s->divergent;
    if (s->kind == COUNT_KINDS) return;
    t->requests[s->kind][s->shared] += s->requests;
    t->lanes[s->kind][s->shared] += s->lanes;
    if (s->shared) {
        t->waves += s->waves, t->ideal_waves += s->ideal_waves;
    } else {
        t->sectors[s->kind] += s->sectors, t->ideal[s->kind] += s->ideal_sectors;
        t->bytes[s->kind] += s->lanes * s->bytes;
    }
}

static void number(FILE *f, const char *key, uint64_t v) {
    fprintf(f, "\"%s\": %llu, ", key, (unsigned long long)v);
}

static void put_sums(FILE *f, const struct sums *t) {
    number(f, "global_load_requests", t->requests[COUNT_LOAD][0]);
    number(f, "global_load_sectors", t->sectors[COUNT_LOAD]);
    number(f, "global_load_sectors_ideal", t->ideal[COUNT_LOAD]);
    number(f, "global_store_requests", t->requests[COUNT_STORE][0]);
    number(f, "global_store_sectors", t->sectors[COUNT_STORE]);
    number(f, "global_store_sectors_ideal", t->ideal[COUNT_STORE]);
    number(f, "global_atomic_requests", t->requests[COUNT_ATOMIC][0]);
    number(f, "global_atomic_sectors", t->sectors[COUNT_ATOMIC]);
    number(f, "shared_load_requests", t->requests[COUNT_LOAD][1]);
    number(f, "shared_store_requests", t->requests[COUNT_STORE][1]);
    number(f, "shared_atomic_requests", t->requests[COUNT_ATOMIC][1]);
    number(f, "shared_requests",
           t->requests[COUNT_LOAD][1] + t->requests[COUNT_STORE][1] + t->requests[COUNT_ATOMIC][1]);
    number(f, "shared_wavefronts", t->waves);
    number(f, "shared_wavefronts_ideal", t->ideal_waves);
    number(f, "bytes_read", t->bytes[COUNT_LOAD] + t->bytes[COUNT_ATOMIC]);
    number(f, "bytes_written", t->bytes[COUNT_STORE] + t->bytes[COUNT_ATOMIC]);
    number(f, "barriers", t->barriers);
    fprintf(f, "\"divergent_branches\": %llu", (unsigned long long)t->divergent);
}

static int by_line(const void *a, const void *b) {
    const struct sums *x = a, *y = b;
    int c = strcmp(x->file, y->file);
    return c ? c : x->line - y->line;
}

static void put_lines(FILE *f, const struct count_kernel *k) {
    struct sums *lines = calloc(k->filled + 1, sizeof *lines);
    int n = 0;
    for (uint32_t i = 0; lines && i < k->room; i++) {
        const struct count_site *s = &k->sites[i];
        if (!s->used) continue;
        struct site_line where = site_line(s->pc);
        if (s->line) where.line = s->line;
        int at = 0;
        while (at < n && (lines[at].line != where.line || strcmp(lines[at].file, where.file) != 0))
            at++;
        if (at == n) lines[n].file = where.file, lines[n++].line = where.line;
        add(&lines[at], s);
    }
    if (n) qsort(lines, (size_t)n, sizeof *lines, by_line);
    fputs("\"lines\": [", f);
    for (int i = 0; i < n; i++) {
        fputs(i ? ",\n      {\"file\": " : "\n      {\"file\": ", f);
        report_put_string(f, lines[i].file);
        fprintf(f, ", \"line\": %d, ", lines[i].line);
        put_sums(f, &lines[i]);
        fputc('}', f);
    }
    fputs(n ? "\n    ]}" : "]}", f);
    free(lines);
}

static void prepare_sites(const struct count_kernel *k) {
    uint32_t *sites = calloc(k->filled + 1, sizeof *sites);
    int n = 0;
    for (uint32_t i = 0; sites && i < k->room; i++)
        if (k->sites[i].used) sites[n++] = k->sites[i].pc;
    if (sites) site_prepare(sites, n);
    free(sites);
}

void count_json(void *file) {
    FILE *f = file;
    fputs("  \"metrics\": {", f);
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        fprintf(f, "%s\n    \"%s\": \"%s\"", i ? "," : "", metrics[i].key, metrics[i].metric);
    fputs("\n  },\n  \"kernels\": [", f);
    for (int i = 0; i < count_kernel_count; i++) {
        const struct count_kernel *k = &count_kernels[i];
        struct sums all = {0};
        prepare_sites(k);
        for (uint32_t s = 0; s < k->room; s++)
            if (k->sites[s].used) add(&all, &k->sites[s]);
        fputs(i ? ",\n    {\"name\": " : "\n    {\"name\": ", f);
        report_put_string(f, k->name);
        fputs(", ", f);
        number(f, "launches", k->launches);
        number(f, "threads", k->threads);
        put_sums(f, &all);
        fputs(", ", f);
        number(f, "footprint_bytes", 32 * (k->read_footprint + k->write_footprint));
        number(f, "footprint_read_bytes", 32 * k->read_footprint);
        number(f, "footprint_write_bytes", 32 * k->write_footprint);
        if (k->dropped) number(f, "records_dropped", k->dropped);
        put_lines(f, k);
    }
    fputs(count_kernel_count ? "\n  ]\n" : "]\n", f);
}
