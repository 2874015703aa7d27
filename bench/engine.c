/* SPDX-License-Identifier: Apache-2.0 */
/* The engine on a model: engine [--steps [--each]] [--check] [--level N] [--threads N] [--runs N]
 * [--timing-cache FILE] MODEL...
 * opens each model, runs it on made-up inputs (dynamic dimensions are 1, floats in [0, 1), integers
 * small) and prints
 *
 *     MODEL build MS run BEST MEDIAN cpu BEST MEDIAN arena MIB bound MIB memory MIB
 *
 * in milliseconds (build and cpu: processor time of all threads; memory: the arena and what kernels
 * work with); with --steps then the time of
 * each kind of step on one thread: best of all runs for each step, added up by operator and kernel,
 * and every step's with --steps --each. With several threads, each time is followed by the time
 * that they take together (median), and by their efficiency: the first by the second, for a thread.
 * --check compares the outputs with those of the reference.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "base/system.h"
#include "engine/context/context.h"
#include "engine/program/reference_step.h"
#include "evaluate/execute.h"
#include "kernels/launch.h"

enum { MAX_RUNS = 1000, MAX_KINDS = 256 };

typedef struct options {
    size_t threads;
    int64_t level;
    int runs;
    bool steps, each, check;
    const char *cache;
} options;

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* ---- Inputs --------------------------------------------------------------------------------- */

static void fill(pgy_tensor *t)
{
    uint64_t state = 1;
    for (size_t i = 0; i < pgy_tensor_count(t); i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const uint32_t top = (uint32_t)(state >> 33);
        if (pgy_tensor_dtype(t) == PGY_F64)
            op_f64(t)[i] = (double)(float)(top / 2147483648.0);
        else if (pgy_tensor_dtype(t) == PGY_BOOL)
            ((bool *)pgy_tensor_data(t))[i] = top & 1;
        else
            op_i64(t)[i] = top % 100;
    }
}

static pgy_status add_input(pgy_tensor_map *feed, const pgy_tensor_info *info, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    pgy_tensor *held = NULL, *t = NULL;
    const size_t rank = (size_t)(info->rank < 0 ? 0 : info->rank);
    for (size_t i = 0; i < rank; i++) shape[i] = info->shape[i] < 0 ? 1 : info->shape[i];
    pgy_status st = pgy_tensor_create(&held, op_storage(info->dtype), rank, shape, err);
    if (!st) fill(held);
    if (!st) st = op_from_storage(&t, held, info->dtype, err);
    if (!st) st = pgy_tensor_map_set(feed, info->name, t, err);
    pgy_tensor_release(t);
    pgy_tensor_release(held);
    return st;
}

static pgy_status make_feed(pgy_tensor_map **feed, const engine *e, pgy_error *err)
{
    const pgy_metadata *inputs = engine_inputs(e);
    pgy_status st = pgy_tensor_map_create(feed, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++)
        st = add_input(*feed, pgy_metadata_at(inputs, i), err);
    return st;
}

/* ---- Steps ---------------------------------------------------------------------------------- */

/* Memory of a program that is walked here, on one thread, with a clock at every step. */
typedef struct walk {
    const program *p;
    char *memory, *scratch;
    void **tensors; /* address of each */
    int64_t *best;  /* per step */
    int64_t *joint; /* per step and run, by all threads; NULL: there is one thread */
    size_t reports, threads;
    int runs;
} walk;

static char *align(char *p)
{
    return (char *)(((uintptr_t)p + 63) / 64 * 64);
}

static void place_tensors(walk *w, const pgy_tensor_map *feed)
{
    const program *p = w->p;
    for (size_t i = 0; i < p->tensor_count; i++) {
        const program_tensor *t = &p->tensors[i];
        if (t->place == PROGRAM_ARENA)
            w->tensors[i] = w->memory + t->offset;
        else if (t->place == PROGRAM_CONSTANT)
            w->tensors[i] = (void *)t->data;
        else if (t->place == PROGRAM_INPUT)
            w->tensors[i] = pgy_tensor_data(pgy_tensor_map_at(feed, t->offset));
        else
            w->tensors[i] = mem_alloc_aligned(64, t->size_bytes + 64);
    }
}

static pgy_status walk_once(const walk *w, pgy_error *err)
{
    void *addresses[256];
    for (size_t i = 0; i < w->p->step_count; i++) {
        const program_step *s = &w->p->steps[i];
        const size_t count = (size_t)s->input_count + s->captured_count + s->output_count;
        if (count > sizeof addresses / sizeof *addresses) return PGY_E_UNSUPPORTED;
        for (size_t k = 0; k < count; k++)
            addresses[k] = s->tensors[k] == PROGRAM_NO_TENSOR ? NULL : w->tensors[s->tensors[k]];
        const int64_t start = clock_ns();
        pgy_status st = PGY_OK;
        if (s->kernel) {
            launch l = launch_of(s->kernel, &s->plan, 1);
            l.run.packed = s->plan.packed;
            l.run.tensors = addresses;
            l.run.workspace = w->memory + s->workspace_offset;
            l.scratch = w->scratch;
            st = launch_alone(&l);
        } else {
            st = reference_step_run(w->p, s, addresses, err);
        }
        if (st) return st;
        const int64_t took = clock_ns() - start;
        if (!w->best[i] || took < w->best[i]) w->best[i] = took;
    }
    return PGY_OK;
}

/* ---- Steps on all threads ------------------------------------------------------------------- */

static void note_joint(void *user, const char *name, double ms)
{
    walk *w = user;
    const size_t step = w->reports % w->p->step_count, run = w->reports / w->p->step_count;
    (void)name;
    if (run < (size_t)w->runs) w->joint[step * (size_t)w->runs + run] = (int64_t)(ms * 1e6);
    w->reports++;
}

/* Sorts the times of each step. */
static pgy_status measure_joint(walk *w, context *s, const pgy_tensor_map *feed, pgy_error *err)
{
    const size_t runs = (size_t)w->runs;
    const pgy_profiler profiler = {.size = sizeof profiler, .user = w, .layer = note_joint};
    w->joint = mem_calloc(w->p->step_count * runs + 1, sizeof *w->joint);
    if (!w->joint) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = pgy_context_set_profiler(s, &profiler, true, err);
    for (int i = 0; !st && i < w->runs; i++) {
        pgy_tensor_map *out = NULL;
        st = pgy_tensor_map_create(&out, err);
        if (!st) st = context_run(s, feed, out, NULL, err);
        pgy_tensor_map_destroy(out);
    }
    for (size_t i = 0; i < w->p->step_count; i++)
        qsort(w->joint + i * runs, runs, sizeof *w->joint, compare);
    return st;
}

static int64_t joint_of(const walk *w, size_t step)
{
    return w->joint ? w->joint[step * (size_t)w->runs + (size_t)w->runs / 2] : 0;
}

static void print_joint(const walk *w, int64_t alone, int64_t joint)
{
    if (w->joint)
        printf(" %10.1f us %4.0f %%", (double)joint / 1e3,
               joint ? 100 * (double)alone / (double)joint / (double)w->threads : 0);
}

/* ---- Printing ------------------------------------------------------------------------------- */

typedef struct kind {
    const char *op, *kernel;
    int64_t ns, joint;
    size_t count;
} kind;

static int slowest_first(const void *a, const void *b)
{
    return -compare(&((const kind *)a)->ns, &((const kind *)b)->ns);
}

static void print_kinds(const walk *w)
{
    static kind kinds[MAX_KINDS];
    size_t count = 0;
    for (size_t i = 0; i < w->p->step_count; i++) {
        const program_step *s = &w->p->steps[i];
        const char *name = s->kernel ? s->kernel->name : "reference";
        size_t k = 0;
        while (k < count && (strcmp(kinds[k].op, s->op_type) || strcmp(kinds[k].kernel, name))) k++;
        if (k == MAX_KINDS) continue;
        if (k == count) kinds[count++] = (kind){.op = s->op_type, .kernel = name};
        kinds[k].ns += w->best[i];
        kinds[k].joint += joint_of(w, i);
        kinds[k].count++;
    }
    qsort(kinds, count, sizeof *kinds, slowest_first);
    for (size_t k = 0; k < count; k++) {
        printf("  %10.3f ms", (double)kinds[k].ns / 1e6);
        print_joint(w, kinds[k].ns, kinds[k].joint);
        printf(" %4zu x %-20s %s\n", kinds[k].count, kinds[k].op, kinds[k].kernel);
    }
}

static void print_each(const walk *w)
{
    for (size_t i = 0; i < w->p->step_count; i++) {
        const program_step *s = &w->p->steps[i];
        printf("  %10.1f us", (double)w->best[i] / 1e3);
        print_joint(w, w->best[i], joint_of(w, i));
        printf(" (thought %8.1f) %-12s %-28s", s->cost_ns / 1e3, s->op_type,
               s->kernel ? s->kernel->name : "reference");
        for (size_t k = 0; k < (size_t)s->input_count + s->output_count; k++) {
            const size_t at = k < s->input_count ? k : k + s->captured_count;
            if (s->tensors[at] == PROGRAM_NO_TENSOR) continue;
            const program_tensor *t = &w->p->tensors[s->tensors[at]];
            printf(k < s->input_count ? " " : " -> ");
            for (int32_t d = 0; d < t->rank; d++) printf(d ? "x%d" : "%d", (int)t->shape[d]);
            if (t->layout) printf("/%zu", kernel_block(t->layout));
        }
        printf("\n");
    }
}

static pgy_status measure_steps(const program *p, context *s, const pgy_tensor_map *feed,
                                const options *o, pgy_error *err)
{
    walk w = {.p = p, .runs = o->runs, .threads = o->threads};
    char *memory = mem_alloc(p->spaces[0].arena_bytes + p->scratch_bytes + 512);
    w.tensors = mem_calloc(p->tensor_count + 1, sizeof *w.tensors);
    w.best = mem_calloc(p->step_count + 1, sizeof *w.best);
    if (!memory || !w.tensors || !w.best) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    w.memory = align(memory);
    w.scratch = align(w.memory + p->spaces[0].arena_bytes);
    place_tensors(&w, feed);
    pgy_status st = o->threads > 1 ? measure_joint(&w, s, feed, err) : PGY_OK;
    for (int i = 0; !st && i < o->runs; i++) st = walk_once(&w, err);
    if (!st && o->each) print_each(&w);
    if (!st) print_kinds(&w);
    for (size_t i = 0; i < p->tensor_count; i++)
        if (p->tensors[i].place == PROGRAM_OUTPUT) mem_free(w.tensors[i]);
    mem_free(memory);
    mem_free(w.tensors);
    mem_free(w.best);
    mem_free(w.joint);
    return st;
}

/* ---- Runs ----------------------------------------------------------------------------------- */

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static pgy_status run_all(context *s, const pgy_tensor_map *feed, const options *o, int64_t *took,
                          int64_t *cpu, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (int i = 0; !st && i < o->runs; i++) {
        pgy_tensor_map *out = NULL;
        st = pgy_tensor_map_create(&out, err);
        const int64_t start = cpu_ns();
        if (!st) st = context_run(s, feed, out, &took[i], err);
        cpu[i] = cpu_ns() - start;
        pgy_tensor_map_destroy(out);
    }
    return st;
}

/* ---- Against the reference ------------------------------------------------------------------- */

static double error_of(const pgy_tensor *got, const pgy_tensor *wanted)
{
    double worst = 0, squares = 0;
    const size_t count = pgy_tensor_count(wanted);
    const float *x = pgy_tensor_data(got), *y = pgy_tensor_data(wanted);
    for (size_t i = 0; i < count; i++) {
        const double d = (double)x[i] - (double)y[i];
        if (d > worst || -d > worst) worst = d < 0 ? -d : d;
        squares += (double)y[i] * (double)y[i];
    }
    return count && squares > 0 ? worst / sqrt(squares / (double)count) : worst;
}

static pgy_status run_reference(pgy_model *model, const pgy_tensor_map *feed, pgy_tensor_map *out,
                                pgy_error *err)
{
    pgy_graph *g = NULL;
    graph_plan plan = {0};
    const execute_limits limits = {.max_bytes = memory_limit_bytes()};
    pgy_status st = pgy_graph_import(&g, model, err);
    if (!st) st = plan_build(&plan, g, err);
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st) st = execute_graph(&plan, g, feed, out, false, &limits, err);
    pgy_graph_destroy(g);
    graph_plan_deinit(&plan);
    return st;
}

static pgy_status check(context *s, pgy_model *model, const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_tensor_map *got = NULL, *wanted = NULL;
    pgy_status st = pgy_tensor_map_create(&got, err);
    if (!st) st = pgy_tensor_map_create(&wanted, err);
    if (!st) st = context_run(s, feed, got, NULL, err);
    if (!st) st = run_reference(model, feed, wanted, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(wanted); i++) {
        const pgy_tensor *t = pgy_tensor_map_at(wanted, i);
        const char *name = pgy_tensor_map_name(wanted, i);
        if (pgy_tensor_dtype(t) == PGY_F32)
            printf("  %s: largest error %.2e of the root mean square\n", name,
                   error_of(pgy_tensor_map_find(got, name), t));
    }
    pgy_tensor_map_destroy(got);
    pgy_tensor_map_destroy(wanted);
    return st;
}

static pgy_status measure(const char *path, const options *o, pgy_error *err)
{
    static int64_t took[MAX_RUNS], cpu[MAX_RUNS];
    pgy_model *model = NULL;
    engine *e = NULL;
    context *s = NULL;
    pgy_tensor_map *feed = NULL;
    int64_t built = 0;
    const int64_t start = cpu_ns();
    pgy_status st = pgy_model_load(&model, path, NULL, err);
    const pgy_build_config config = {.size = sizeof config,
                                     .threads = o->threads,
                                     .load_timing_cache = o->cache,
                                     .has_optimization_level = o->level >= 0,
                                     .optimization_level = o->level};
    if (!st) st = engine_build(&e, model, &config, err);
    if (!st) st = context_create(&s, e, o->threads, err);
    if (!st) st = make_feed(&feed, e, err);
    if (!st) st = run_all(s, feed, &(options){.runs = 1}, took, cpu, err);
    built = cpu_ns() - start;
    if (!st) st = run_all(s, feed, o, took, cpu, err);
    if (!st) {
        const program *p = context_program(s);
        qsort(took, (size_t)o->runs, sizeof *took, compare);
        qsort(cpu, (size_t)o->runs, sizeof *cpu, compare);
        printf("%s build %.0f run %.3f %.3f cpu %.3f %.3f arena %.2f bound %.2f memory %.2f\n",
               path, (double)built / 1e6, (double)took[0] / 1e6, (double)took[o->runs / 2] / 1e6,
               (double)cpu[0] / 1e6, (double)cpu[o->runs / 2] / 1e6,
               p ? (double)p->spaces[0].arena_bytes / 1048576 : 0,
               p ? (double)p->spaces[0].arena_bound / 1048576 : 0,
               p ? (double)program_memory_bytes(p, o->threads) / 1048576 : 0);
        if (o->steps && p) st = measure_steps(p, s, feed, o, err);
        if (!st && o->check) st = check(s, model, feed, err);
        fflush(stdout);
    }
    pgy_tensor_map_destroy(feed);
    context_destroy(s);
    engine_release(e);
    pgy_model_destroy(model);
    return st;
}

int main(int argc, char **argv)
{
    options o = {.threads = 1, .level = -1, .runs = 10};
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        pgy_error err = {0};
        if (strcmp(argv[i], "--steps") == 0) {
            o.steps = true;
        } else if (strcmp(argv[i], "--each") == 0) {
            o.each = true;
        } else if (strcmp(argv[i], "--check") == 0) {
            o.check = true;
        } else if (strcmp(argv[i], "--timing-cache") == 0 && i + 1 < argc) {
            o.cache = argv[++i];
        } else if (strcmp(argv[i], "--level") == 0 && i + 1 < argc) {
            o.level = strtol(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
            o.threads = (size_t)strtoul(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
            o.runs = (int)strtol(argv[++i], NULL, 10);
            if (o.runs < 1 || o.runs > MAX_RUNS) o.runs = 10;
        } else if (measure(argv[i], &o, &err)) {
            fprintf(stderr, "%s: %s\n", argv[i], err.text);
            failed = 1;
        }
    }
    return failed;
}
