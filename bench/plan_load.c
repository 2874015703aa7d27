/* SPDX-License-Identifier: Apache-2.0 */
/* A plan from its file to results: plan_load PLAN [THREADS]
 * opens it, makes a context, runs it 20 times on zeros (for the shapes that it was built for) and
 * prints in milliseconds
 *
 *     open MS context MS first MS best MS median MS
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/system.h"
#include "engine/context/context.h"

enum { RUNS = 20 };

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static pgy_status make_feed(pgy_tensor_map **feed, engine *e, pgy_error *err)
{
    program *p = NULL;
    pgy_status st = pgy_tensor_map_create(feed, err);
    if (!st) st = engine_program_for(&p, e, 0, err);
    if (!st && !p) st = pgy_error_set(err, PGY_E_UNSUPPORTED, "the plan is interpreted");
    const pgy_metadata *inputs = engine_inputs(e);
    for (size_t i = 0; !st && i < p->tensor_count; i++) {
        const program_tensor *t = &p->tensors[i];
        pgy_tensor *made = NULL;
        if (t->place != PROGRAM_INPUT) continue;
        const char *name = pgy_metadata_at(inputs, t->offset)->name;
        if (pgy_tensor_map_find(*feed, name)) continue; /* a view of it */
        st = pgy_tensor_create(&made, t->dtype, (size_t)t->rank, t->shape, err);
        if (!st) st = pgy_tensor_map_adopt(*feed, name, made, err);
    }
    program_release(p);
    return st;
}

static pgy_status run(int64_t *took, context *c, const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_tensor_map *out = NULL;
    pgy_status st = pgy_tensor_map_create(&out, err);
    const int64_t start = clock_ns();
    if (!st) st = context_run(c, feed, out, NULL, err);
    *took = clock_ns() - start;
    pgy_tensor_map_destroy(out);
    return st;
}

static pgy_status measure(const char *path, size_t threads, pgy_error *err)
{
    int64_t took[RUNS] = {0};
    engine *e = NULL;
    context *c = NULL;
    pgy_tensor_map *feed = NULL;
    const int64_t start = clock_ns();
    pgy_status st = engine_open(&e, path, err);
    const int64_t opened = clock_ns();
    if (!st) st = context_create(&c, e, threads, err);
    const int64_t ready = clock_ns();
    if (!st) st = make_feed(&feed, e, err);
    for (int i = 0; !st && i < RUNS; i++) st = run(&took[i], c, feed, err);
    const int64_t first = took[0];
    qsort(took, RUNS, sizeof *took, compare);
    if (!st)
        printf("open %.3f context %.3f first %.3f best %.3f median %.3f\n",
               (double)(opened - start) / 1e6, (double)(ready - opened) / 1e6, (double)first / 1e6,
               (double)took[0] / 1e6, (double)took[RUNS / 2] / 1e6);
    pgy_tensor_map_destroy(feed);
    context_destroy(c);
    engine_release(e);
    return st;
}

int main(int argc, char **argv)
{
    pgy_error err = {0};
    if (argc < 2) {
        fprintf(stderr, "plan_load PLAN [THREADS]\n");
        return 2;
    }
    if (!measure(argv[1], argc > 2 ? strtoul(argv[2], NULL, 10) : 1, &err)) return 0;
    fprintf(stderr, "%s\n", err.text);
    return 1;
}
