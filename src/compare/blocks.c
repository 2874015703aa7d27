/* SPDX-License-Identifier: Apache-2.0 */
/* An array cut into blocks in NumPy's order of summation, sums over blocks that are joined in it,
 * and a walk over all blocks on all processors. */
#include "base/alloc.h"
#include "base/cancel.h"
#include "base/system.h"
#include "compare/arith.h"

/* The tree halves every run of more than this many elements; its leaves are the blocks. */
#define TREE_BLOCK 4096

/* ---- Partition and sums over blocks
 * ----------------------------------------------------------------- */

static size_t tree_half(size_t n)
{
    return n / 2 - n / 2 % 8;
}

static size_t count_tree(size_t n)
{
    return n <= TREE_BLOCK ? 1 : count_tree(tree_half(n)) + count_tree(n - tree_half(n));
}

static size_t *cut_tree(size_t *to, size_t start, size_t n)
{
    if (n <= TREE_BLOCK) {
        *to = start;
        return to + 1;
    }
    to = cut_tree(to, start, tree_half(n));
    return cut_tree(to, start + tree_half(n), n - tree_half(n));
}

pgy_status arith_partition(size_t **starts, size_t *count, size_t elements, bool tree,
                           pgy_error *err)
{
    size_t blocks = tree ? count_tree(elements) : (elements + ARITH_BLOCK - 1) / ARITH_BLOCK;
    size_t *s = mem_calloc(blocks + 1, sizeof *s);
    if (!s)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for statistics of %zu elements",
                             elements);
    if (tree)
        cut_tree(s, 0, elements);
    else
        for (size_t i = 0; i < blocks; i++) s[i] = i * ARITH_BLOCK;
    s[blocks] = elements;
    *starts = s;
    *count = blocks;
    return PGY_OK;
}

static float join_tree_f32(const float **sums, size_t n)
{
    if (n <= TREE_BLOCK) return *(*sums)++;
    float first = join_tree_f32(sums, tree_half(n));
    return first + join_tree_f32(sums, n - tree_half(n));
}

float arith_join_f32(const float *sums, size_t elements, bool tree)
{
    if (tree) return join_tree_f32(&sums, elements);
    float total = 0;
    for (size_t i = 0; i < (elements + ARITH_BLOCK - 1) / ARITH_BLOCK; i++) total += sums[i];
    return total;
}

static double join_tree_f64(const double **sums, size_t n)
{
    if (n <= TREE_BLOCK) return *(*sums)++;
    double first = join_tree_f64(sums, tree_half(n));
    return first + join_tree_f64(sums, n - tree_half(n));
}

double arith_join_f64(const double *sums, size_t elements, bool tree)
{
    if (tree) return join_tree_f64(&sums, elements);
    double total = 0;
    for (size_t i = 0; i < (elements + ARITH_BLOCK - 1) / ARITH_BLOCK; i++) total += sums[i];
    return total;
}

/* ---- Walking over all blocks
 * ------------------------------------------------------------------------ */

typedef struct walk {
    const source *s;
    const size_t *starts;
    size_t blocks, tasks;
    block_visit visit;
    void *user;
    block **scratch; /* per task */
} walk;

size_t arith_tasks(size_t blocks, size_t elements)
{
    size_t tasks = 2 * cpu_count() + elements / ((size_t)1 << 31);
    return tasks < blocks ? tasks : blocks;
}

static void walk_task(size_t task, void *user)
{
    const walk *w = user;
    size_t first = w->blocks * task / w->tasks, end = w->blocks * (task + 1) / w->tasks;
    for (size_t i = first; i < end && !cancel_requested(); i++) {
        block_place place = {task, i, w->starts[i], w->starts[i + 1] - w->starts[i]};
        w->visit(w->scratch[task], &place, w->user);
    }
}

pgy_status arith_each(pair_counts *counts, const source *s, const size_t *starts, size_t blocks,
                      block_visit visit, void *user, pgy_error *err)
{
    walk w = {s, starts, blocks, arith_tasks(blocks, s->count), visit, user, NULL};
    pair_counts total = {0};
    pgy_status st = PGY_OK;
    w.scratch = mem_calloc(w.tasks + 1, sizeof *w.scratch);
    for (size_t i = 0; w.scratch && i < w.tasks; i++) {
        w.scratch[i] = mem_alloc_aligned(64, sizeof(block));
        if (!w.scratch[i]) st = PGY_E_MEMORY;
        if (w.scratch[i]) w.scratch[i]->counts = (pair_counts){0};
    }
    if (!w.scratch || st) {
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for statistics of %zu elements",
                           s->count);
        goto done;
    }
    parallel_for_until_cancelled(w.tasks, walk_task, &w);
    st = cancel_check(err);
    for (size_t i = 0; i < w.tasks; i++) {
        total.mismatched += w.scratch[i]->counts.mismatched;
        total.zeros += w.scratch[i]->counts.zeros;
        total.wrapped += w.scratch[i]->counts.wrapped;
    }
    if (counts) *counts = total;
done:
    for (size_t i = 0; w.scratch && i < w.tasks; i++) mem_free(w.scratch[i]);
    mem_free(w.scratch);
    return st;
}
