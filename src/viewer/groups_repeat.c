/* SPDX-License-Identifier: Apache-2.0 */
/* Finds equal pieces in a row among the children of each container, and makes a repeat of them: 24
 * layers that exporters put into scopes, or a run of nodes that repeats itself where there are no
 * scopes. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "viewer/groups_periods.h"
#include "viewer/groups_tokens.h"

/* Repeats of loose nodes must be worth a frame. */
enum { SMALLEST_PIECE = 3, SMALLEST_SAVING = 6 };

typedef struct run {
    uint32_t start, period, count; /* of children */
} run;

typedef struct repeater {
    grouping *s;
    tokenizer tokens;
    group_tokens first, other; /* of pieces that are compared */
    uint32_t *position;        /* of nodes: the child of the current container that has them */
    uint32_t *position_stamp, stamp;
    /* the current container */
    view_item *items; /* its children, copied */
    uint64_t *sequence;
    uint64_t *crossing; /* for each place between children: tensors that pass it */
    uint8_t *is_taken;
    run *runs;
    uint32_t count, run_count;
} repeater;

/* ---- The sequence --------------------------------------------------------------------------- */

static bool is_card(const view_graph *g, view_item item)
{
    return item.kind == VIEW_ITEM_NODE && g->nodes[item.ref].kind != VIEW_NODE;
}

static uint64_t fold_tokens(const group_tokens *t)
{
    uint64_t h = t->count;
    for (size_t i = 0; i < t->count; i++) h = (h ^ t->items[i]) * 0x9E3779B97F4A7C15u + (h >> 29);
    return h;
}

/* One number for each child: equal ones are equal by themselves. Inputs and outputs are not put
 * into repeats, so each is unlike all others. */
static bool make_sequence(repeater *x)
{
    const view_graph *g = x->s->g;
    for (uint32_t i = 0; i < x->count; i++) {
        const view_item item = x->items[i];
        if (is_card(g, item)) {
            x->sequence[i] = i;
        } else if (item.kind == VIEW_ITEM_NODE) {
            x->sequence[i] = x->tokens.node_hash[item.ref] | (uint64_t)1 << 32;
        } else {
            if (!tokenizer_read(&x->tokens, &x->other, &item, 1)) return false;
            x->sequence[i] = fold_tokens(&x->other) | (uint64_t)1 << 32;
        }
    }
    return true;
}

static void set_position(repeater *x, view_item item, uint32_t at)
{
    const view_graph *g = x->s->g;
    if (item.kind == VIEW_ITEM_NODE) {
        x->position[item.ref] = at;
        x->position_stamp[item.ref] = x->stamp;
        return;
    }
    const view_container *c = &g->containers[item.ref];
    if (c->node != VIEW_NONE) set_position(x, (view_item){VIEW_ITEM_NODE, c->node}, at);
    for (uint32_t i = 0; i < c->child_count; i++) set_position(x, c->children[i], at);
}

static void count_node_crossings(repeater *x, uint32_t node)
{
    const view_graph *g = x->s->g;
    const group_lists *uses = &x->s->uses;
    for (uint32_t k = 0; k < g->nodes[node].output_count; k++) {
        const uint32_t t = g->nodes[node].outputs[k];
        uint32_t last = x->position[node];
        if (t == VIEW_NONE) continue;
        for (uint32_t u = uses->start[t]; u < uses->start[t + 1]; u++) {
            const uint32_t reader = uses->values[u];
            if (x->position_stamp[reader] == x->stamp && x->position[reader] > last)
                last = x->position[reader];
        }
        x->crossing[x->position[node] + 1]++;
        x->crossing[last + 1]--;
    }
}

static void count_crossings_in(repeater *x, view_item item)
{
    const view_graph *g = x->s->g;
    if (item.kind == VIEW_ITEM_NODE) {
        count_node_crossings(x, item.ref);
        return;
    }
    const view_container *c = &g->containers[item.ref];
    if (c->node != VIEW_NONE) count_node_crossings(x, c->node);
    for (uint32_t i = 0; i < c->child_count; i++) count_crossings_in(x, c->children[i]);
}

static void count_crossings(repeater *x)
{
    x->stamp++;
    for (uint32_t i = 0; i < x->count; i++) set_position(x, x->items[i], i);
    memset(x->crossing, 0, ((size_t)x->count + 2) * sizeof *x->crossing);
    for (uint32_t i = 0; i < x->count; i++) count_crossings_in(x, x->items[i]);
    for (uint32_t i = 1; i < x->count + 2; i++) x->crossing[i] += x->crossing[i - 1];
}

/* ---- Runs ----------------------------------------------------------------------------------- */

static bool is_worth(const repeater *x, uint32_t start, uint32_t period, uint32_t count,
                     uint32_t nodes)
{
    const view_item item = x->items[start];
    if (count < 2) return false;
    if (period == 1 && item.kind == VIEW_ITEM_CONTAINER &&
        x->s->g->containers[item.ref].kind == VIEW_SCOPE)
        return true;
    return nodes >= SMALLEST_PIECE && nodes * (count - 1) >= SMALLEST_SAVING;
}

static void take(repeater *x, uint32_t start, uint32_t period, uint32_t count, uint32_t nodes)
{
    if (!is_worth(x, start, period, count, nodes)) return;
    memset(x->is_taken + start, 1, (size_t)period * count);
    x->runs[x->run_count++] = (run){start, period, count};
}

/* Of the possible first pieces of a run, that between whose pieces the fewest tensors pass. */
static uint32_t best_start(const repeater *x, uint32_t start, uint32_t period, uint32_t length)
{
    const uint32_t count = length / period, spare = length % period;
    uint32_t best = start;
    uint64_t least = UINT64_MAX;
    for (uint32_t phase = 0; phase <= spare; phase++) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k <= count; k++) sum += x->crossing[start + phase + k * period];
        if (sum >= least) continue;
        least = sum;
        best = start + phase;
    }
    return best;
}

/* Elements of a run are equal by themselves; those pieces are taken whose wiring is equal, too. */
static bool take_equal(repeater *x, uint32_t start, uint32_t period, uint32_t count)
{
    uint32_t from = 0, nodes = 0;
    for (uint32_t k = 0; k < count; k++) {
        group_tokens *to = k == from ? &x->first : &x->other;
        if (!tokenizer_read(&x->tokens, to, x->items + start + k * period, period)) return false;
        if (k == from) {
            nodes = x->tokens.place_count;
            continue;
        }
        if (x->first.count == x->other.count &&
            memcmp(x->first.items, x->other.items, x->first.count * sizeof *x->first.items) == 0)
            continue;
        take(x, start + from * period, period, k - from, nodes);
        const group_tokens swap = x->first;
        x->first = x->other;
        x->other = swap;
        nodes = x->tokens.place_count;
        from = k;
    }
    take(x, start + from * period, period, count - from, nodes);
    return true;
}

static bool take_period(repeater *x, uint32_t period)
{
    for (uint32_t i = 0; i + period < x->count;) {
        uint32_t length = 0;
        while (i + length + period < x->count && !x->is_taken[i + length] &&
               !x->is_taken[i + length + period] &&
               x->sequence[i + length] == x->sequence[i + length + period])
            length++;
        if (length >= period) {
            const uint32_t all = length + period, start = best_start(x, i, period, all);
            if (!take_equal(x, start, period, (i + all - start) / period)) return false;
        }
        i += length + 1;
    }
    return true;
}

/* ---- Containers ----------------------------------------------------------------------------- */

/* "layer.0" and "layer.23" give "layer.*"; "0" and "23" have nothing in common. */
static const char *common_name(view_graph *g, const char *a, const char *b)
{
    size_t head = 0, tail = 0;
    const size_t size_a = strlen(a), size_b = strlen(b);
    while (a[head] && a[head] == b[head] && (a[head] < '0' || a[head] > '9')) head++;
    while (tail < size_a - head && tail < size_b - head &&
           a[size_a - 1 - tail] == b[size_b - 1 - tail] &&
           (a[size_a - 1 - tail] < '0' || a[size_a - 1 - tail] > '9'))
        tail++;
    if (!head && !tail) return "block";
    return arena_printf(&g->memory, "%.*s*%s", (int)head, a, a + size_a - tail);
}

static const char *first_name(const view_graph *g, view_item item)
{
    for (;;) {
        if (item.kind == VIEW_ITEM_NODE)
            return *g->nodes[item.ref].name ? g->nodes[item.ref].name
                                            : g->ops[g->nodes[item.ref].op].name;
        const view_container *c = &g->containers[item.ref];
        if (*c->name || !c->child_count) return c->name;
        item = c->children[0];
    }
}

static bool is_scope(const view_graph *g, const run *r, const view_item *items)
{
    return r->period == 1 && items[r->start].kind == VIEW_ITEM_CONTAINER &&
           g->containers[items[r->start].ref].kind == VIEW_SCOPE;
}

static pgy_status make_instance(view_item *out, repeater *x, const run *r, uint32_t k, bool scopes,
                                uint32_t repeat, pgy_error *err)
{
    view_graph *g = x->s->g;
    const view_item *items = x->items + r->start + k * r->period;
    if (scopes) {
        *out = items[0];
        g->containers[out->ref].kind = VIEW_INSTANCE;
        return PGY_OK;
    }
    const char *name = arena_printf(&g->memory, "block %u", (unsigned)k + 1);
    const uint32_t c = name ? group_container(g, VIEW_INSTANCE, name, repeat) : VIEW_NONE;
    if (c == VIEW_NONE) return group_no_memory(err);
    *out = (view_item){VIEW_ITEM_CONTAINER, c};
    return group_set_children(g, c, items, r->period, err);
}

static pgy_status make_repeat(view_item *out, repeater *x, const run *r, uint32_t parent,
                              pgy_error *err)
{
    view_graph *g = x->s->g;
    const char *a = first_name(g, x->items[r->start]);
    const char *b = first_name(g, x->items[r->start + (r->count - 1) * r->period]);
    const bool scopes = is_scope(g, r, x->items);
    const char *name = scopes ? common_name(g, a, b) : "block";
    const char *note = arena_printf(&g->memory, "%s to %s", a, b);
    view_item *instances = mem_calloc(r->count, sizeof *instances);
    const uint32_t c =
        name && note && instances ? group_container(g, VIEW_REPEAT, name, parent) : VIEW_NONE;
    pgy_status st = c == VIEW_NONE ? group_no_memory(err) : PGY_OK;
    if (!st) g->containers[c].note = note;
    for (uint32_t k = 0; !st && k < r->count; k++)
        st = make_instance(&instances[k], x, r, k, scopes, c, err);
    if (!st) st = group_set_children(g, c, instances, r->count, err);
    if (!st) *out = (view_item){VIEW_ITEM_CONTAINER, c};
    mem_free(instances);
    return st;
}

static int by_start(const void *a, const void *b)
{
    const run *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static pgy_status make_repeats(repeater *x, uint32_t container, pgy_error *err)
{
    pgy_status st = PGY_OK;
    uint32_t count = 0;
    view_item *children = mem_calloc(x->count, sizeof *children);
    if (!children) return group_no_memory(err);
    qsort(x->runs, x->run_count, sizeof *x->runs, by_start);
    for (uint32_t i = 0, r = 0; !st && i < x->count; count++) {
        if (r < x->run_count && x->runs[r].start == i) {
            st = make_repeat(&children[count], x, &x->runs[r], container, err);
            i += x->runs[r].period * x->runs[r].count;
            r++;
        } else {
            children[count] = x->items[i++];
        }
    }
    if (!st) st = group_set_children(x->s->g, container, children, count, err);
    mem_free(children);
    return st;
}

static pgy_status repeat_children(repeater *x, uint32_t container, pgy_error *err)
{
    const view_container *c = &x->s->g->containers[container];
    uint32_t periods[GROUP_PERIODS];
    arena memory = {0};
    pgy_status st = PGY_OK;
    x->count = c->child_count;
    x->run_count = 0;
    x->items = arena_alloc_array(&memory, x->count, sizeof *x->items);
    x->sequence = arena_alloc_array(&memory, x->count, sizeof *x->sequence);
    x->crossing = arena_alloc_array(&memory, (size_t)x->count + 2, sizeof *x->crossing);
    x->is_taken = arena_alloc_array(&memory, x->count, 1);
    x->runs = arena_alloc_array(&memory, x->count, sizeof *x->runs);
    bool ok = x->items && x->sequence && x->crossing && x->is_taken && x->runs;
    if (ok) memcpy(x->items, c->children, x->count * sizeof *x->items);
    ok = ok && make_sequence(x);
    const uint32_t found = ok ? group_periods(periods, x->sequence, x->count) : UINT32_MAX;
    ok = found != UINT32_MAX;
    if (ok && found) count_crossings(x);
    for (uint32_t i = 0; ok && i < found; i++) ok = take_period(x, periods[i]);
    if (!ok) st = group_no_memory(err);
    if (!st && x->run_count) st = make_repeats(x, container, err);
    arena_deinit(&memory);
    return st;
}

/* Containers before those that contain them, so that the repeats of equal ones are equal. */
static pgy_status repeat_in(repeater *x, uint32_t container, pgy_error *err)
{
    pgy_status st = cancel_check(err);
    for (uint32_t i = 0; !st && i < x->s->g->containers[container].child_count; i++) {
        const view_item child = x->s->g->containers[container].children[i];
        if (child.kind == VIEW_ITEM_CONTAINER) st = repeat_in(x, child.ref, err);
    }
    const uint32_t count = x->s->g->containers[container].child_count;
    const view_container_kind kind = x->s->g->containers[container].kind;
    if (!st && count > 1 && kind != VIEW_CALL && kind != VIEW_FUSED)
        st = repeat_children(x, container, err);
    return st;
}

pgy_status group_repeats(grouping *s, pgy_error *err)
{
    repeater x = {.s = s};
    const uint32_t count = s->g->container_count;
    x.position = arena_alloc_array(&s->memory, s->g->node_count, sizeof *x.position);
    x.position_stamp = arena_alloc_array(&s->memory, s->g->node_count, sizeof *x.position_stamp);
    pgy_status st = x.position && x.position_stamp && tokenizer_start(&x.tokens, s)
                        ? PGY_OK
                        : group_no_memory(err);
    for (uint32_t i = 0; !st && i < count; i++)
        if (s->g->containers[i].parent == VIEW_NONE) st = repeat_in(&x, i, err);
    mem_free(x.first.items);
    mem_free(x.other.items);
    return st;
}
