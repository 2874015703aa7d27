/* SPDX-License-Identifier: Apache-2.0 */
/* The reference without the program around it: opref MODEL [RUNS] opens the model, then runs it on
 * made-up inputs (dynamic dimensions are 1, floats in [0, 1), integers small) and prints
 *
 *     prepare MS            import, plan and shape inference
 *     run BEST MEDIAN       one inference, weights included, in milliseconds
 *     cpu BEST MEDIAN       its CPU time, of all threads
 *     memory PEAK BASE      peak and, before the first run, resident memory in MiB
 *     bound LIVE WEIGHTS    in MiB: the most that is live at once while nodes run in order, weights
 *                           from their first to their last use included; and all weights.
 * Everything counts in the type that values are held in, float64 for floats. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "base/system.h"
#include "evaluate/execute.h"

enum { MAX_RUNS = 1000 };

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static double mib(uint64_t size_bytes)
{
    return (double)size_bytes / (1 << 20);
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

static pgy_status add_input(pgy_tensor_map *feed, const pgy_value *v, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    pgy_tensor *held = NULL, *t = NULL;
    for (int32_t i = 0; i < v->rank; i++) shape[i] = v->dims[i].value < 0 ? 1 : v->dims[i].value;
    pgy_status st = pgy_tensor_create(&held, op_storage(v->dtype),
                                      (size_t)(v->rank < 0 ? 0 : v->rank), shape, err);
    if (!st) {
        fill(held);
        st = op_from_storage(&t, held, v->dtype, err);
    }
    if (!st) st = pgy_tensor_map_set(feed, v->name, t, err);
    pgy_tensor_release(t);
    pgy_tensor_release(held);
    return st;
}

/* ---- What must be live ---------------------------------------------------------------------- */

static uint64_t size_of(const pgy_value *v)
{
    uint64_t count = 1;
    if (!v->dtype || v->rank < 0) return 0;
    for (int32_t i = 0; i < v->rank; i++)
        count *= (uint64_t)(v->dims[i].value < 0 ? 1 : v->dims[i].value);
    return count * pgy_dtype_describe(op_storage(v->dtype))->bits / 8;
}

static size_t last_use(const pgy_value *v, size_t node_count)
{
    size_t last = 0;
    for (size_t i = 0; i < v->consumer_count; i++)
        if (v->consumers[i]->graph == v->graph && v->consumers[i]->index > last)
            last = v->consumers[i]->index;
    return v->is_output ? node_count : last;
}

static size_t first_use(const pgy_value *v)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < v->consumer_count; i++)
        if (v->consumers[i]->graph == v->graph && v->consumers[i]->index < first)
            first = v->consumers[i]->index;
    return first;
}

static void add_life(uint64_t *change, const pgy_value *v, size_t from, size_t node_count)
{
    const size_t to = last_use(v, node_count);
    if (from > to || from > node_count) return;
    change[from] += size_of(v);
    change[to + 1] -= size_of(v);
}

/* Nodes are taken in stored order, which exporters keep runnable. */
static void print_bound(const pgy_graph *g)
{
    uint64_t *change = mem_calloc(g->node_count + 2, sizeof *change), live = 0, most = 0, all = 0;
    for (size_t i = 0; change && i < g->input_count; i++)
        add_life(change, g->inputs[i], 0, g->node_count);
    for (size_t i = 0; change && i < g->initializer_count; i++) {
        add_life(change, g->initializers[i], first_use(g->initializers[i]), g->node_count);
        all += size_of(g->initializers[i]);
    }
    for (size_t i = 0; change && i < g->node_count; i++)
        for (size_t k = 0; k < g->nodes[i]->output_count; k++)
            if (g->nodes[i]->outputs[k])
                add_life(change, g->nodes[i]->outputs[k], i, g->node_count);
    for (size_t i = 0; change && i <= g->node_count; i++) {
        live += change[i];
        if (live > most) most = live;
    }
    printf("bound %.1f %.1f\n", mib(most), mib(all));
    mem_free(change);
}

/* ---- Runs ----------------------------------------------------------------------------------- */

static pgy_status run_once(const graph_plan *plan, pgy_graph *g, const pgy_tensor_map *feed,
                           int64_t *took, int64_t *cpu, pgy_error *err)
{
    pgy_tensor_map *out = NULL;
    const execute_limits limits = {.max_bytes = memory_limit_bytes()};
    pgy_status st = pgy_tensor_map_create(&out, err);
    const int64_t start = clock_ns(), cpu_start = cpu_ns();
    if (!st) st = execute_graph(plan, g, feed, out, false, &limits, err);
    *took = clock_ns() - start;
    *cpu = cpu_ns() - cpu_start;
    pgy_tensor_map_destroy(out);
    return st;
}

static pgy_status run_all(const graph_plan *plan, pgy_graph *g, int runs, pgy_error *err)
{
    static int64_t took[MAX_RUNS], cpu[MAX_RUNS];
    pgy_tensor_map *feed = NULL;
    struct rusage usage = {0};
    pgy_status st = pgy_tensor_map_create(&feed, err);
    for (size_t i = 0; !st && i < g->input_count; i++) st = add_input(feed, g->inputs[i], err);
    const uint64_t base = memory_resident_bytes();
    for (int i = 0; !st && i < runs; i++) st = run_once(plan, g, feed, &took[i], &cpu[i], err);
    pgy_tensor_map_destroy(feed);
    if (st) return st;
    qsort(took, (size_t)runs, sizeof took[0], compare);
    qsort(cpu, (size_t)runs, sizeof cpu[0], compare);
    getrusage(RUSAGE_SELF, &usage);
    printf("run %.3f %.3f\n", (double)took[0] / 1e6, (double)took[runs / 2] / 1e6);
    printf("cpu %.3f %.3f\n", (double)cpu[0] / 1e6, (double)cpu[runs / 2] / 1e6);
    printf("memory %.1f %.1f\n", mib((uint64_t)usage.ru_maxrss * 1024), mib(base));
    return PGY_OK;
}

static pgy_status measure(const char *path, int runs, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_graph *graph = NULL;
    graph_plan plan = {0};
    mem_keep_freed();
    const int64_t start = clock_ns();
    pgy_status st = pgy_model_load(&model, path, NULL, err);
    if (!st) st = pgy_graph_import(&graph, model, err);
    if (!st) st = plan_build(&plan, graph, err);
    if (!st) st = pgy_graph_infer_shapes(graph, NULL, err);
    if (!st) printf("prepare %.3f\n", (double)(clock_ns() - start) / 1e6);
    if (!st) st = run_all(&plan, graph, runs, err);
    if (!st) print_bound(graph);
    pgy_graph_destroy(graph);
    pgy_model_destroy(model);
    graph_plan_deinit(&plan);
    return st;
}

int main(int argc, char **argv)
{
    pgy_error err = {0};
    const int runs = argc > 2 ? atoi(argv[2]) : 3;
    if (argc < 2 || runs < 1 || runs > MAX_RUNS) {
        fprintf(stderr, "opref MODEL [RUNS]\n");
        return 2;
    }
    if (measure(argv[1], runs, &err)) {
        fprintf(stderr, "%s: %s\n", argv[1], err.text);
        return 1;
    }
    return 0;
}
