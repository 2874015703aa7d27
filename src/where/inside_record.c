/* SPDX-License-Identifier: Apache-2.0 */
/* Records what the bodies of a model's control flow read, in each iteration. The reference does it:
 * it says when a body begins, so loops, scans and branches need no rules of their own here. */
#include "base/alloc.h"
#include "base/cancel.h"
#include "where/inside.h"
#include "where/noise_walk.h"

enum { MAX_RUNS = 10000 };

/* The value that a name had in the last run: loops read the same captured values every time. */
typedef struct last_value {
    pgy_tensor *held, *made; /* in storage type, and in the declared type */
} last_value;

typedef struct recorder {
    body_list *list;
    noise_walk *walk;
    size_t sample;
    uint64_t bytes;
} recorder;

void body_deinit(body *b)
{
    for (size_t i = 0; i < b->count; i++) pgy_tensor_map_destroy(b->feeds[i]);
    for (size_t i = 0; b->last && i < b->name_count; i++) {
        pgy_tensor_release(b->last[i].held);
        pgy_tensor_release(b->last[i].made);
    }
    mem_free(b->last);
    mem_free(b->feeds);
    mem_free(b->runs);
    if (b->cut_a != b->cut_b) pgy_cut_destroy(b->cut_a);
    pgy_cut_destroy(b->cut_b);
    *b = (body){0};
}

static pgy_status read_value(pgy_tensor **out, recorder *r, body *b, size_t i, execute_level *level,
                             pgy_error *err)
{
    last_value *last = &b->last[i];
    op_tensor t;
    pgy_tensor *made = NULL;
    pgy_value *v = level_resolve(b->graph, b->names[i]);
    pgy_status st = v ? execute_value(&t, level, v, err) : PGY_OK;
    if (st) return st;
    if (!v || !t.value) {
        b->why = v && t.sequence ? "it reads a sequence" : "the sides read different tensors in it";
        return PGY_OK;
    }
    if (last->held != t.value) {
        st = op_from_storage(&made, t.value, t.dtype, err);
        if (st) return st;
        pgy_tensor_release(last->held);
        pgy_tensor_release(last->made);
        *last = (last_value){pgy_tensor_retain(t.value), made};
        r->bytes += t.dtype == PGY_STRING ? 0 : pgy_tensor_size_bytes(made);
    }
    *out = last->made;
    return PGY_OK;
}

static pgy_status keep(body *b, pgy_tensor_map *feed, body_run run, pgy_error *err)
{
    const size_t capacity = b->capacity ? 2 * b->capacity : 16;
    if (b->count == b->capacity) {
        pgy_tensor_map **feeds = mem_realloc(b->feeds, capacity * sizeof *feeds);
        if (feeds) b->feeds = feeds;
        body_run *runs = feeds ? mem_realloc(b->runs, capacity * sizeof *runs) : NULL;
        if (!runs) return graph_no_memory(err);
        b->runs = runs;
        b->capacity = capacity;
    }
    b->runs[b->count] = run;
    b->feeds[b->count++] = feed;
    return PGY_OK;
}

static pgy_status record(recorder *r, body *b, execute_level *level, pgy_error *err)
{
    const noise_step *step = &r->walk->steps[0];
    const body_run run = {r->sample, step->begun ? step->begun - 1 : 0};
    pgy_tensor_map *feed = NULL;
    if (!b->last && !(b->last = mem_calloc(b->name_count + 1, sizeof *b->last)))
        return graph_no_memory(err);
    pgy_status st = pgy_tensor_map_create(&feed, err);
    for (size_t i = 0; !st && !b->why && i < b->name_count; i++) {
        pgy_tensor *t = NULL;
        st = read_value(&t, r, b, i, level, err);
        if (!st && t) st = pgy_tensor_map_set(feed, b->names[i], t, err);
    }
    if (!st && !b->why && !(st = keep(b, feed, run, err))) feed = NULL;
    pgy_tensor_map_destroy(feed);
    return st;
}

static pgy_status begins(const pgy_graph *g, execute_level *level, void *user, pgy_error *err)
{
    recorder *r = user;
    noise_walk_begins(r->walk);
    if (r->walk->depth != 1) return PGY_OK;
    for (size_t i = 0; i < r->list->count; i++) {
        body *b = &r->list->items[i];
        if (b->graph != g || b->why) continue;
        b->full |= b->count >= MAX_RUNS || r->bytes > r->list->max_bytes;
        return b->full ? PGY_OK : record(r, b, level, err);
    }
    return PGY_OK;
}

static pgy_status starts(pgy_node *n, void *user, pgy_error *err)
{
    return noise_walk_starts(((recorder *)user)->walk, n, err);
}

static pgy_status ran(pgy_node *n, const op_tensor *inputs, const op_tensor *outputs, void *user,
                      pgy_error *err)
{
    (void)n, (void)inputs, (void)outputs, (void)err;
    noise_walk_ran(((recorder *)user)->walk);
    return PGY_OK;
}

pgy_status bodies_record(body_list *list, noise_walk *walk, pgy_tensor_map *const *feeds,
                         size_t count, pgy_error *err)
{
    recorder r = {.list = list, .walk = walk};
    const execute_watch watch = {.ran = ran, .user = &r, .begins = begins, .starts = starts};
    pgy_status st = PGY_OK;
    for (; !st && r.sample < count; r.sample++)
        st = noise_walk_run(walk, feeds[r.sample], false, 1, NULL, &watch, err);
    return st;
}
