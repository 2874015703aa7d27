/* SPDX-License-Identifier: Apache-2.0 */
/* Adds waits between host and devices. A device runs its steps in order, but later than the host
 * enqueues them. So the host must wait for a copy before it reads the copied data, and data that a
 * copy reads on the host must not change until the host has waited for a later event. Waits are
 * steps of their own, so a run decides nothing. */
#include <string.h>

#include "base/alloc.h"
#include "engine/program/build.h"

/* A wait that some step needs. */
typedef struct wait {
    uint32_t before; /* step */
    uint32_t who;    /* space */
    uint32_t copy;   /* the step to wait for; PROGRAM_NO_STEP: all of `stream` */
    uint32_t stream; /* space */
} wait;

typedef struct ordering {
    builder *b;
    uint32_t *copies; /* of each root on the host: index + 1 of the step that copies it there */
    wait *waits;
    size_t count, capacity;
    /* [a][b]: index + 1 of the last copy on stream b that space a has waited for */
    uint32_t passed[PROGRAM_MAX_SPACES][PROGRAM_MAX_SPACES];
    uint32_t *events; /* of each copy: index + 1 of its event */
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

/* Once the host has waited for a copy, all steps enqueued later run after it. */
static bool is_passed(const ordering *o, uint32_t who, uint32_t stream, uint32_t copy)
{
    return o->passed[0][stream] > copy || o->passed[who][stream] > copy;
}

static bool wait_for_operands(ordering *o, uint32_t index)
{
    const builder *b = o->b;
    const program_step *s = &b->p->steps[index];
    const uint32_t who = reader_of(s);
    uint32_t latest[PROGRAM_MAX_SPACES] = {0};
    for (size_t i = 0; i < read_count(s); i++) {
        if (s->tensors[i] == PROGRAM_NO_TENSOR) continue;
        const uint32_t copied = o->copies[build_root(b, s->tensors[i])];
        if (!copied || b->tensors[s->tensors[i]].t.space) continue;
        const uint32_t stream = b->p->steps[copied - 1].space;
        if (stream == who || is_passed(o, who, stream, copied - 1)) continue;
        if (copied > latest[stream]) latest[stream] = copied;
    }
    for (uint32_t stream = 1; stream < b->p->space_count; stream++) {
        if (!latest[stream]) continue;
        if (!add_wait(o, index, who, latest[stream] - 1, stream)) return false;
        o->passed[who][stream] = latest[stream];
    }
    return true;
}

static bool find_waits(ordering *o)
{
    const builder *b = o->b;
    bool used[PROGRAM_MAX_SPACES] = {0}, room = true;
    const uint32_t end = (uint32_t)b->p->step_count;
    for (uint32_t i = 0; room && i < end; i++) {
        const program_step *s = &b->p->steps[i];
        used[s->space] = true;
        room = wait_for_operands(o, i);
        if (s->act != PROGRAM_COPY) continue;
        const uint32_t to = s->tensors[1];
        if (!b->tensors[to].t.space) o->copies[build_root(b, to)] = i + 1;
    }
    for (uint32_t stream = 1; room && stream < b->p->space_count; stream++)
        if (used[stream]) room = add_wait(o, end, 0, PROGRAM_NO_STEP, stream);
    return room;
}

/* ---- The new list --------------------------------------------------------------------------- */

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
    if (!o.copies || !o.events || !find_waits(&o)) {
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
