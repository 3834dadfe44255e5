/* sim_sweep.c: `servelab sim sweep`: parses its loads and policies, runs it, writes its files. */
#include "base/target.h"
#include "cli/sim_print.h"
#include "sched/policies.h"
#include "sim/curve_svg.h"
#include "sim/jobs.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INTERRUPTED = 130 }; /* a shell's exit status for SIGINT */

static int run(const struct sim_flags *f, struct sim_setup *setup, struct sweep_spec *spec,
               bool *unwritten, struct err *e);
static int make_rates(const char *text, struct sweep_spec *s, struct err *e);
static int make_policies(char *text, struct sweep_spec *s, struct err *e);

int sim_sweep(const struct sim_flags *f) {
    struct sim_setup setup;
    struct sweep_spec spec = {0};
    struct err e;
    if (sim_setup_make(f, &setup, &e)) return cli_input_error("sim sweep", NULL, &e, f->json);
    char *policies = strdup(f->policies);
    INVARIANT(policies);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    spec.run = setup.run;
    spec.jobs = f->jobs ? (int)f->jobs : cores > 0 ? (int)cores : 1;
    spec.progress = isatty(STDERR_FILENO) ? stderr : NULL;
    int rc = make_rates(f->rates, &spec, &e) || make_policies(policies, &spec, &e) ? RUN_BAD : 0;
    bool unwritten = false;
    if (!rc) rc = run(f, &setup, &spec, &unwritten, &e);
    int status = rc == SWEEP_INTERRUPTED ? INTERRUPTED : CLI_DONE;
    if (rc < 0) {
        status =
            cli_input_error("sim sweep", workload_err_input(&setup.run.workload, &e), &e, f->json);
        if (rc == RUN_OURS || unwritten) status = CLI_FAULT;
        if (rc == JOBS_NOT_ATTEMPTED) status = CLI_NOT_ATTEMPTED;
    }
    if (rc == RUN_OURS)
        fprintf(stderr, "servelab sim sweep: this is a bug in servelab; discard the results\n");
    if (rc == SWEEP_INTERRUPTED)
        fprintf(
            stderr,
            "servelab sim sweep: interrupted; the points measured so far are written, marked as "
            "not complete\n");
    free(policies);
    sim_setup_release(&setup);
    return status;
}

/* ---- loads ---- */

static int bad_rates(const char *text, struct err *e) {
    return err_at(e, 0, "--rates",
                  "'%.40s' is neither LO:HI:N with 0 < LO < HI and N from 2 to %d nor a list such "
                  "as 1,2,4 of rates above 0 in rising order",
                  text, SWEEP_MAX_RATES);
}

/* Moves *at past a finite number above 0. */
static int rate(const char **at, double *out) {
    const char *end;
    if (!cli_real(*at, &end, out) || !(*out > 0)) return -1;
    *at = end;
    return 0;
}

static int make_range(const char *text, struct sweep_spec *s, struct err *e) {
    const char *at = text;
    double lo, hi;
    char *end;
    if (rate(&at, &lo) || *at++ != ':' || rate(&at, &hi) || *at++ != ':' || !(lo < hi))
        return bad_rates(text, e);
    long n = strtol(at, &end, 10);
    if (end == at || *end || n < 2 || n > SWEEP_MAX_RATES) return bad_rates(text, e);
    for (long i = 0; i < n; i++)
        s->rates_rps[i] = i == n - 1 ? hi : lo + (hi - lo) * (double)i / (double)(n - 1);
    s->n_rates = (size_t)n;
    return 0;
}

static int make_rates(const char *text, struct sweep_spec *s, struct err *e) {
    s->n_rates = 0;
    if (!text) return 0;
    if (strchr(text, ':')) return make_range(text, s, e);
    for (const char *at = text;; at++) {
        double v;
        if (s->n_rates == SWEEP_MAX_RATES || rate(&at, &v) || (*at && *at != ',') ||
            (s->n_rates && v <= s->rates_rps[s->n_rates - 1]))
            return bad_rates(text, e);
        s->rates_rps[s->n_rates++] = v;
        if (!*at) return 0;
    }
}

/* ---- policies ---- */

/* Splits `text` in place at commas before a letter: wait-for-time:5,8 is one policy. */
static int make_policies(char *text, struct sweep_spec *s, struct err *e) {
    s->n_policies = 0;
    for (char *at = text; at;) {
        char *comma = strchr(at, ',');
        while (comma && isdigit((unsigned char)comma[1])) comma = strchr(comma + 1, ',');
        if (comma) *comma = 0;
        if (s->n_policies == SWEEP_MAX_POLICIES)
            return err_at(e, 0, "--policies", "at most %d side by side", SWEEP_MAX_POLICIES);
        if (!*at) return err_at(e, 0, "--policies", "a name is missing beside a comma");
        for (size_t i = 0; i < s->n_policies; i++)
            if (!strcmp(s->policies[i], at))
                return err_at(e, 0, "--policies", "'%.40s' is in the list twice", at);
        s->policies[s->n_policies++] = at;
        at = comma ? comma + 1 : NULL;
    }
    return 0;
}

/* Finds the errors that every run would have before the first run: names, and the trace. */
static int try_out(const struct sweep_spec *s, struct workload_facts *facts, struct err *e) {
    struct sim_config c = {.cost = s->run.cost,
                           .kv_blocks = s->run.kv_blocks,
                           .token_budget = s->run.token_budget,
                           .max_running = s->run.max_running,
                           .max_in_system = s->run.max_in_system};
    for (size_t i = 0; i < s->n_policies; i++) {
        const char *arg;
        c.policy = policy_find(s->policies[i], &arg, e);
        struct fleet *f =
            c.policy ? fleet_create(&c, arg, s->run.servers, s->run.router, 1, e) : NULL;
        if (!f) {
            if (!strcmp(e->field, "--policy"))
                strcpy(e->field, "--policies"); /* the flag's name here */
            return -1;
        }
        fleet_free(f);
    }
    struct workload_spec w = s->run.workload;
    if (w.arrivals != ARRIVALS_TRACE) w.rate_rps = s->n_rates ? s->rates_rps[0] : 1;
    struct workload *open = workload_open(&w, e);
    if (!open) return -1;
    workload_facts(open, facts);
    workload_close(open);
    return 0;
}

/* ---- files ---- */

static int file_error(const char *path, struct err *e) {
    return err_at(e, 0, "--out", "%.300s can't be written: %s", path, strerror(errno));
}

static int make_folder(const char *path, struct err *e) {
    struct stat st;
    if (mkdir(path, 0755) && errno != EEXIST) return file_error(path, e);
    if (stat(path, &st)) return file_error(path, e);
    if (!S_ISDIR(st.st_mode)) return err_at(e, 0, "--out", "%.300s is a file; name a folder", path);
    return access(path, W_OK) ? file_error(path, e) : 0;
}

/* Makes the folder and locks it, so that two sweeps can't mix their files. Returns the descriptor
 * that holds the lock until it is closed; -1 and *e. */
static int take_folder(const char *path, struct err *e) {
    if (make_folder(path, e)) return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return file_error(path, e);
    if (!flock(fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
        return fd; /* also on a file system without locks */
    close(fd);
    return err_at(e, 0, "--out",
                  "another sweep is writing into %.200s; name another folder, or wait", path);
}

/* Writes FOLDER/NAME as a whole. */
static int write_file(const char *folder, const char *name, const struct sweep_report *r,
                      int (*write_to)(FILE *, const struct sweep_report *), struct err *e) {
    char path[4096 + 64], *text = NULL;
    size_t n;
    struct err why;
    snprintf(path, sizeof path, "%.4000s/%s", folder, name);
    FILE *memory = open_memstream(&text, &n);
    INVARIANT(memory);
    int rc = write_to(memory, r);
    if (fclose(memory) || rc)
        err_set(&why, "can't be made: memory is out");
    else
        rc = target_write(path, text, n, &why);
    free(text);
    return rc ? err_at(e, 0, "--out", "%.250s %s", path, why.text) : 0;
}

static int write_json(FILE *f, const struct sweep_report *r) {
    cJSON *tree = sweep_json(r);
    json_dump(tree, f);
    cJSON_Delete(tree);
    return ferror(f) ? -1 : 0;
}

static int write_svg(FILE *f, const struct sweep_report *r) {
    char workload[400], machine[400];
    struct curve_text t = {
        sim_workload_text(r->flags, r->setup, workload, sizeof workload),
        sim_machine_text(r->flags, r->setup, machine, sizeof machine),
    };
    return curve_svg_write(f, r->sweep, &t);
}

/* ---- running and showing ---- */

static int show(const struct sim_flags *f, const struct sweep_report *r, struct err *e) {
    if (write_file(f->out, "sweep.json", r, write_json, e) ||
        write_file(f->out, "curve.svg", r, write_svg, e))
        return -1;
    if (f->json) return write_json(stdout, r), 0; /* main.c checks that it was written */
    print_sweep_text(r);
    printf("\nwritten: %s/sweep.json, %s/curve.svg (%.1f s)\n", f->out, f->out, r->sweep->seconds);
    return 0;
}

static int run(const struct sim_flags *f, struct sim_setup *setup, struct sweep_spec *spec,
               bool *unwritten, struct err *e) {
    struct sweep sweep;
    if (try_out(spec, &setup->facts, e)) return RUN_BAD;
    int folder = take_folder(f->out, e);
    if (folder < 0) return RUN_BAD;
    int rc = sweep_run(spec, &sweep, e);
    if (rc < 0) {
        close(folder);
        return rc;
    }
    struct sweep_report report = {f, setup, &sweep};
    *unwritten = show(f, &report, e) != 0;
    if (*unwritten) rc = RUN_BAD;
    sweep_release(&sweep);
    close(folder);
    return rc;
}
