/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between the host and devices continue while later steps run. The proof keeps them in a
 * list until the host has waited for an event recorded after them, or for one of another device
 * that had itself waited for them. Before that, no host step and no other device's copy may touch
 * their memory. */
#include "base/alloc.h"
#include "engine/plan/file.h"
#include "engine/plan/prove.h"

/* A copy that may still be in progress. */
typedef struct going {
    const plan_tensor *tensor; /* the tensor on the host that it reads or writes */
    uint32_t step, stream;     /* step: index of the copy; stream: its space */
    bool writes;
} going;

/* Indexed by stream (space): all its steps with a lower index have ended for certain. */
typedef struct passed {
    uint32_t of[PLAN_MAX_SPACES];
} passed;

/* State of an event. When the event has passed, the steps of its stream before the record have
 * ended, and so has all that the stream had waited for. */
typedef struct mark {
    passed then;
    bool recorded;
} mark;

typedef struct order_proof {
    const program_view *v;
    going *items;
    size_t count, capacity;
    mark *marks;                    /* indexed by event */
    passed spaces[PLAN_MAX_SPACES]; /* indexed by space: what has ended when its next step starts */
    uint32_t ends[PLAN_MAX_SPACES]; /* indexed by stream: index + 1 of its last step */
} order_proof;

static pgy_status refuse(const plan_file *p, const plan_step *s, const char *what, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_FORMAT, "the plan is damaged: step '%s' (%s): %s",
                         plan_text(p, s->label), plan_text(p, s->op_type), what);
}

static bool meet(const plan_tensor *a, const plan_tensor *b)
{
    if (a->place != b->place || a->space != b->space || !a->size_bytes || !b->size_bytes)
        return false;
    if (a->place != PROGRAM_ARENA) return a->offset == b->offset;
    return a->offset < b->offset + b->size_bytes && b->offset < a->offset + a->size_bytes;
}

/* Has the copy ended before any work starts that stream `who` enqueues now? */
static bool is_over(const order_proof *o, const going *g, uint32_t who)
{
    return g->stream == who || o->spaces[who].of[g->stream] > g->step;
}

/* May stream `who` read or write t now? Two readers do not conflict. */
static bool is_free(const order_proof *o, const plan_tensor *t, bool writes, uint32_t who)
{
    for (size_t i = 0; !t->space && i < o->count; i++) {
        const going *g = &o->items[i];
        if ((writes || g->writes) && meet(g->tensor, t) && !is_over(o, g, who)) return false;
    }
    return true;
}

static bool are_free(const order_proof *o, const plan_step *s)
{
    const uint32_t *refs = o->v->refs + s->refs;
    const uint32_t who = s->act == PROGRAM_COPY ? s->space : 0;
    const uint64_t reads = (uint64_t)s->input_count + s->captured_count;
    for (uint64_t i = 0; i < reads + s->output_count; i++)
        if (refs[i] != PROGRAM_NO_TENSOR && !is_free(o, &o->v->tensors[refs[i]], i >= reads, who))
            return false;
    if (s->act != PROGRAM_RUN || s->space || !s->workspace_bytes) return true;
    const plan_tensor workspace = {.place = PROGRAM_ARENA,
                                   .offset = (uint64_t)s->workspace_place * PLAN_ALIGN,
                                   .size_bytes = s->workspace_bytes};
    return is_free(o, &workspace, true, 0);
}

static bool add_copy(order_proof *o, const plan_step *s, uint32_t step)
{
    const uint32_t *refs = o->v->refs + s->refs;
    const plan_tensor *x = &o->v->tensors[refs[0]], *y = &o->v->tensors[refs[1]];
    if (!mem_grow((void **)&o->items, &o->capacity, o->count + 1, sizeof *o->items)) return false;
    o->items[o->count++] = (going){
        .tensor = x->space ? y : x, .step = step, .stream = s->space, .writes = x->space != 0};
    return true;
}

static void join(passed *to, const passed *from)
{
    for (size_t i = 0; i < PLAN_MAX_SPACES; i++)
        if (from->of[i] > to->of[i]) to->of[i] = from->of[i];
}

/* Marks an event with all that has ended when it passes: what its stream has waited for, and what
 * the host had waited for when it enqueued the record. */
static void record(order_proof *o, const plan_step *s, uint32_t step)
{
    mark *m = &o->marks[s->event];
    m->recorded = true;
    m->then = o->spaces[s->space];
    join(&m->then, &o->spaces[0]);
    m->then.of[s->space] = step;
}

/* After a wait: copies that the host has waited for leave the list. */
static void wait_for(order_proof *o, const plan_step *s)
{
    size_t kept = 0;
    join(&o->spaces[s->space], &o->marks[s->event].then);
    for (size_t i = 0; i < o->count; i++)
        if (o->spaces[0].of[o->items[i].stream] <= o->items[i].step) o->items[kept++] = o->items[i];
    o->count = kept;
}

static pgy_status prove_step(order_proof *o, const plan_step *s, uint32_t step, pgy_error *err)
{
    const plan_file *p = o->v->p;
    if (s->act == PROGRAM_RECORD) {
        record(o, s, step);
    } else if (s->act == PROGRAM_WAIT) {
        if (!o->marks[s->event].recorded)
            return refuse(p, s, "it waits for an event that no earlier step records", err);
        wait_for(o, s);
    } else if (!are_free(o, s)) {
        return refuse(p, s, "it uses memory of a copy without waiting for that copy", err);
    } else if (s->act == PROGRAM_COPY && !add_copy(o, s, step)) {
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while opening the plan");
    } else {
        o->ends[s->space] = step + 1;
    }
    return PGY_OK;
}

/* Proves that at the end of a run the host has waited for all work of every device. */
static pgy_status prove_ends(const order_proof *o, pgy_error *err)
{
    for (uint32_t i = 1; i < PLAN_MAX_SPACES; i++)
        if (o->ends[i] && o->spaces[0].of[i] < o->ends[i])
            return refuse(o->v->p, &o->v->steps[o->ends[i] - 1],
                          "no step waits for the end of this step", err);
    return PGY_OK;
}

pgy_status plan_prove_order(const program_view *v, pgy_error *err)
{
    order_proof o = {.v = v, .marks = mem_calloc((size_t)v->r->event_count + 1, sizeof *o.marks)};
    pgy_status st =
        o.marks ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory while opening the plan");
    for (uint32_t i = 0; !st && i < v->r->step_count; i++)
        st = prove_step(&o, &v->steps[i], i, err);
    if (!st) st = prove_ends(&o, err);
    mem_free(o.items);
    mem_free(o.marks);
    return st;
}
