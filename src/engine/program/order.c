/* SPDX-License-Identifier: Apache-2.0 */
/* Adds waits between host and devices. A device runs its steps in order, but later than the host
 * enqueues them. So the host must wait for a copy before it reads the copied data, and data that a
 * copy reads on the host must not change until the host has waited for a later event. Waits are
 * steps of their own, so a run decides nothing. No wait is added for work that an earlier wait
 * already covers, even if by way of another device. */
#include <string.h>

#include "base/alloc.h"
#include "engine/program/build.h"

/* A wait that some step needs. */
typedef struct wait {
    uint32_t before; /* index of the step that the wait comes before */
    uint32_t who;    /* space that waits; 0: the host */
    uint32_t copy;   /* index of the copy to wait for; PROGRAM_NO_STEP: for all work of `stream` */
    uint32_t stream; /* space whose stream is waited for */
} wait;

/* Indexed by stream (space): index + 1 of the last step that has ended for certain. */
typedef struct passed {
    uint32_t of[PROGRAM_MAX_SPACES];
} passed;

/* Indexed by stream (space): index + 1 of the step to wait for; 0: none. */
typedef passed needed;

typedef struct ordering {
    builder *b;
    uint32_t *copies; /* indexed by tensor that owns host memory: index + 1 of the step that copies
                         into it */
    wait *waits;
    size_t count, capacity;
    passed spaces[PROGRAM_MAX_SPACES]; /* indexed by space: what has ended when its next step
                                          starts */
    passed *steps_passed;              /* indexed by step: what has ended when it ends */
    uint32_t *events;                  /* indexed by copy step: index + 1 of its event; 0: none */
    program_step *steps;
    size_t step_count;
} ordering;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while steps are put in order");
}

static size_t read_count(const program_step *s)
{
    return (size_t)s->input_count + s->captured_count;
}

static bool add_wait(ordering *o, uint32_t before, uint32_t who, uint32_t copy, uint32_t stream)
{
    if (!mem_grow((void **)&o->waits, &o->capacity, o->count + 1, sizeof *o->waits)) return false;
    o->waits[o->count++] = (wait){.before = before, .who = who, .copy = copy, .stream = stream};
    return true;
}

/* The space that needs a step's operands on the host: the device of a copy, else the host itself,
 * which reads them while it runs or enqueues the step. */
static uint32_t reader_of(const program_step *s)
{
    return s->act == PROGRAM_COPY ? s->space : 0;
}

static void join(passed *to, const passed *from)
{
    for (size_t i = 0; i < PROGRAM_MAX_SPACES; i++)
        if (from->of[i] > to->of[i]) to->of[i] = from->of[i];
}

/* What the host has waited for has ended for devices, too: a device's step starts after the host
 * has enqueued it. */
static bool is_passed(const ordering *o, uint32_t who, uint32_t stream, uint32_t step)
{
    return o->spaces[0].of[stream] > step || o->spaces[who].of[stream] > step;
}

/* Does some other step that is waited for end after this one, so that one wait serves for both? */
static bool is_behind_another(const ordering *o, const needed *n, uint32_t stream)
{
    for (uint32_t other = 1; other < o->b->p->space_count; other++)
        if (other != stream && n->of[other] &&
            o->steps_passed[n->of[other] - 1].of[stream] >= n->of[stream])
            return true;
    return false;
}

static bool wait_for_operands(ordering *o, uint32_t index)
{
    const builder *b = o->b;
    const program_step *s = &b->p->steps[index];
    const uint32_t who = reader_of(s);
    needed latest = {0};
    for (size_t i = 0; i < read_count(s); i++) {
        if (s->tensors[i] == PROGRAM_NO_TENSOR) continue;
        const uint32_t copied = o->copies[build_root(b, s->tensors[i])];
        if (!copied || b->tensors[s->tensors[i]].t.space) continue;
        const uint32_t stream = b->p->steps[copied - 1].space;
        if (stream == who || is_passed(o, who, stream, copied - 1)) continue;
        if (copied > latest.of[stream]) latest.of[stream] = copied;
    }
    for (uint32_t stream = 1; stream < b->p->space_count; stream++) {
        if (!latest.of[stream] || is_behind_another(o, &latest, stream)) continue;
        if (!add_wait(o, index, who, latest.of[stream] - 1, stream)) return false;
        join(&o->spaces[who], &o->steps_passed[latest.of[stream] - 1]);
    }
    return true;
}

/* Makes the host wait at the end of a run for the last step of each stream. */
static bool wait_for_ends(ordering *o, const needed *last)
{
    const program *p = o->b->p;
    const uint32_t end = (uint32_t)p->step_count;
    for (uint32_t stream = 1; stream < p->space_count; stream++) {
        const uint32_t step = last->of[stream] - 1;
        if (!last->of[stream] || is_passed(o, 0, stream, step)) continue;
        if (is_behind_another(o, last, stream)) continue;
        const uint32_t copy = p->steps[step].act == PROGRAM_COPY ? step : PROGRAM_NO_STEP;
        if (!add_wait(o, end, 0, copy, stream)) return false;
    }
    return true;
}

static bool find_waits(ordering *o)
{
    const builder *b = o->b;
    needed last = {0};
    for (uint32_t i = 0; i < b->p->step_count; i++) {
        const program_step *s = &b->p->steps[i];
        if (!wait_for_operands(o, i)) return false;
        passed *own = &o->spaces[s->space];
        if (s->space) join(own, &o->spaces[0]);
        if (s->space) own->of[s->space] = last.of[s->space] = i + 1;
        o->steps_passed[i] = *own;
        if (s->act != PROGRAM_COPY) continue;
        const uint32_t to = s->tensors[1];
        if (!b->tensors[to].t.space) o->copies[build_root(b, to)] = i + 1;
    }
    return wait_for_ends(o, &last);
}

/* ---- The step list with waits --------------------------------------------------------------- */

static void put(ordering *o, program_act act, uint32_t space, uint32_t event, const char *label)
{
    o->steps[o->step_count++] = (program_step){.label = label,
                                               .op_type = act == PROGRAM_RECORD ? "Record" : "Wait",
                                               .act = act,
                                               .space = space,
                                               .event = event};
}

static void put_waits(ordering *o, uint32_t before)
{
    program *p = o->b->p;
    for (size_t i = 0; i < o->count; i++) {
        const wait *w = &o->waits[i];
        if (w->before != before) continue;
        const bool all = w->copy == PROGRAM_NO_STEP;
        const char *label = all ? p->spaces[w->stream].name : p->steps[w->copy].label;
        const uint32_t event = all ? p->event_count++ : o->events[w->copy] - 1;
        if (all) put(o, PROGRAM_RECORD, w->stream, event, label);
        put(o, PROGRAM_WAIT, w->who, event, label);
    }
}

static void put_all(ordering *o)
{
    program *p = o->b->p;
    for (size_t i = 0; i < o->count; i++)
        if (o->waits[i].copy != PROGRAM_NO_STEP && !o->events[o->waits[i].copy])
            o->events[o->waits[i].copy] = ++p->event_count;
    for (uint32_t i = 0; i < p->step_count; i++) {
        put_waits(o, i);
        o->steps[o->step_count++] = p->steps[i];
        if (o->events[i])
            put(o, PROGRAM_RECORD, p->steps[i].space, o->events[i] - 1, p->steps[i].label);
    }
    put_waits(o, (uint32_t)p->step_count);
    mem_free(p->steps);
    p->steps = o->steps;
    p->step_count = o->step_count;
}

pgy_status build_order(builder *b, pgy_error *err)
{
    ordering o = {.b = b};
    pgy_status st = PGY_OK;
    if (b->p->space_count == 1) return PGY_OK;
    o.copies = mem_calloc(b->tensor_count + 1, sizeof *o.copies);
    o.events = mem_calloc(b->p->step_count + 1, sizeof *o.events);
    o.steps_passed = mem_calloc(b->p->step_count + 1, sizeof *o.steps_passed);
    if (!o.copies || !o.events || !o.steps_passed || !find_waits(&o)) {
        st = no_memory(err);
        goto done;
    }
    o.steps = mem_calloc(b->p->step_count + 2 * o.count + 1, sizeof *o.steps);
    if (o.steps)
        put_all(&o);
    else
        st = no_memory(err);
done:
    mem_free(o.copies);
    mem_free(o.events);
    mem_free(o.steps_passed);
    mem_free(o.waits);
    return st;
}

uint32_t build_last_use(const builder *b, uint32_t step)
{
    const program *p = b->p;
    const uint32_t stream = p->steps[step].space;
    for (uint32_t i = step + 1, k; i < p->step_count; i++) {
        if (p->steps[i].act != PROGRAM_WAIT || p->steps[i].space) continue;
        for (k = i; k > step; k--)
            if (p->steps[k].act == PROGRAM_RECORD && p->steps[k].space == stream &&
                p->steps[k].event == p->steps[i].event)
                return i;
    }
    return (uint32_t)p->step_count - 1;
}
