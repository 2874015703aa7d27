/* SPDX-License-Identifier: Apache-2.0 */
/* What a step costs beside its work:
 *
 *     overhead MODEL INPUT COUNT OUTPUT RUNS [LIBRARY DIMENSION... [: DIMENSION...]]
 *
 * The engine runs a model of one float32 input of COUNT numbers through its public interface, on
 * one thread, and so does ONNX Runtime's LIBRARY on an input of these dimensions and an output of
 * those behind the colon (the same, if there are none; no more than COUNT numbers), with addresses
 * that are bound once. Runs that take less than a millisecond are timed 20 at once. Prints the best
 * time of one run each, in microseconds, and the number of steps:
 *
 *     engine US median US steps N onnxruntime US median US
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <polygraphy/runtime.h>

#include "base/alloc.h"
#include "base/system.h"
#include "engine/context/context.h"

enum { RANK_MAX = 8, FLOAT = 1, API_VERSION = 12, RUNS_MAX = 100000, AT_ONCE = 20 };

/* The functions of ONNX Runtime by their index in the table. */
enum {
    CREATE_ENV = 3,
    CREATE_SESSION = 7,
    RUN = 9,
    CREATE_OPTIONS = 10,
    SET_INTRA_THREADS = 24,
    SET_INTER_THREADS = 25,
    WRAP_TENSOR = 49,
    CPU_MEMORY = 69
};

typedef struct base {
    const void *const *(*table)(uint32_t version);
} base;

typedef void *(*call)(); /* every function of the table gives NULL when all is well */

typedef struct job {
    const char *model, *input, *output;
    size_t count, runs;
    float *x, *y;
    int at_once; /* runs between two looks at the clock */
} job;

typedef struct dims {
    int64_t sizes[RANK_MAX];
    size_t rank;
} dims;

static int64_t took[RUNS_MAX];

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void print(const char *name, const job *j)
{
    qsort(took, j->runs, sizeof *took, compare);
    printf("%s %.3f median %.3f ", name, (double)took[0] / 1e3 / j->at_once,
           (double)took[j->runs / 2] / 1e3 / j->at_once);
}

/* ---- The engine ----------------------------------------------------------------------------- */

static pgy_status time_runs(job *j, pgy_context *c, pgy_error *err)
{
    pgy_status st = pgy_context_set_input(c, j->input, j->x, j->count * sizeof(float), err);
    if (!st) st = pgy_context_set_output(c, j->output, j->y, j->count * sizeof(float), err);
    if (!st) st = pgy_context_execute(c, err);
    const int64_t first = clock_ns();
    if (!st) st = pgy_context_execute(c, err);
    j->at_once = clock_ns() - first < 1000000 ? AT_ONCE : 1;
    for (size_t i = 0; !st && i < j->runs; i++) {
        const int64_t start = clock_ns();
        for (int k = 0; !st && k < j->at_once; k++) st = pgy_context_execute(c, err);
        took[i] = clock_ns() - start;
    }
    return st;
}

static pgy_status run_engine(job *j, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_engine *e = NULL;
    pgy_context *c = NULL;
    const pgy_context_options o = {.size = sizeof o, .threads = 1};
    pgy_status st = pgy_model_load(&model, j->model, NULL, err);
    if (!st) st = pgy_engine_build(&e, model, NULL, err);
    if (!st) st = pgy_context_create(&c, e, &o, err);
    if (!st) st = time_runs(j, c, err);
    if (!st) {
        const program *p = context_program(c);
        print("engine", j);
        printf("steps %zu ", p ? p->step_count : 0);
    }
    pgy_context_destroy(c);
    pgy_engine_release(e);
    pgy_model_destroy(model);
    return st;
}

/* ---- ONNX Runtime --------------------------------------------------------------------------- */

static call function(const void *const *table, int index)
{
    union {
        const void *address;
        call call;
    } entry = {table[index]};
    return entry.call;
}

static const void *const *open_table(const char *library)
{
    union {
        void *address;
        const base *(*call)(void);
    } entry = {NULL};
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle) entry.address = dlsym(handle, "OrtGetApiBase");
    return entry.address ? entry.call()->table(API_VERSION) : NULL;
}

static int run_other(const job *j, const char *library, const dims *x, const dims *y)
{
    void *env = NULL, *options = NULL, *session = NULL, *memory = NULL, *in = NULL, *out = NULL;
    const void *const *t = open_table(library);
    int failed =
        !t || function(t, CREATE_ENV)(3, "bench", &env) || function(t, CREATE_OPTIONS)(&options) ||
        function(t, SET_INTRA_THREADS)(options, 1) || function(t, SET_INTER_THREADS)(options, 1) ||
        function(t, CREATE_SESSION)(env, j->model, options, &session) ||
        function(t, CPU_MEMORY)(0, 0, &memory) ||
        function(t, WRAP_TENSOR)(memory, j->x, j->count * sizeof(float), x->sizes, x->rank, FLOAT,
                                 &in) ||
        function(t, WRAP_TENSOR)(memory, j->y, j->count * sizeof(float), y->sizes, y->rank, FLOAT,
                                 &out);
    for (size_t i = 0; !failed && i <= j->runs; i++) {
        const int64_t start = clock_ns();
        for (int k = 0; !failed && k < j->at_once; k++)
            failed = function(t, RUN)(session, NULL, &j->input, &in, (size_t)1, &j->output,
                                      (size_t)1, &out) != NULL;
        if (i) took[i - 1] = clock_ns() - start;
    }
    if (!failed) print("onnxruntime", j);
    return failed;
}

int main(int argc, char **argv)
{
    dims of[2] = {{{0}, 0}, {{0}, 0}}; /* input, output */
    pgy_error err = {0};
    if (argc < 6) return 2;
    job j = {.model = argv[1],
             .input = argv[2],
             .count = (size_t)strtoull(argv[3], NULL, 10),
             .output = argv[4],
             .runs = (size_t)strtoull(argv[5], NULL, 10)};
    if (!j.runs || j.runs > RUNS_MAX || j.count > 1 << 24) return 2;
    dims *at = &of[0];
    for (int i = 7; i < argc && at->rank < RANK_MAX; i++) {
        if (strcmp(argv[i], ":") == 0)
            at = &of[1];
        else
            at->sizes[at->rank++] = strtoll(argv[i], NULL, 10);
    }
    j.x = mem_alloc_aligned(64, j.count * sizeof *j.x);
    j.y = mem_alloc_aligned(64, j.count * sizeof *j.y);
    int failed = !j.x || !j.y;
    for (size_t i = 0; !failed && i < j.count; i++) j.x[i] = (float)(i % 251) / 251;
    if (!failed && run_engine(&j, &err)) {
        fprintf(stderr, "%s: %s\n", argv[1], err.text);
        failed = 1;
    }
    if (!failed && argc > 6) failed = run_other(&j, argv[6], &of[0], of[1].rank ? &of[1] : &of[0]);
    printf("\n");
    mem_free(j.x);
    mem_free(j.y);
    return failed;
}
