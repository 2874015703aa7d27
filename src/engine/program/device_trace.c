/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the device stand before and behind each step. After the run, their times become times
 * of the host by a straight line through two moments that both clocks know: one before the first
 * step and one behind the last. A third one shows how well the line fits. */
#include "engine/program/device_trace.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "base/tracer.h"
#include "base/tracer_text.h"

enum { MOMENT_TRIES = 8, SURE_NS = 30000 };
typedef enum moment_kind { FIRST, SECOND, LAST, MOMENT_COUNT } moment_kind;

/* A moment that the clocks of the host and of a device both know. */
typedef struct moment {
    device_event *event;
    int64_t host_ns;
} moment;

typedef struct clocks {
    device_stream *stream;
    moment moments[MOMENT_COUNT];
    uint32_t layer_row, stream_row;
    double ns_per_ns; /* of the host's clock, for one of the device's */
} clocks;

struct device_trace {
    const program *p;
    const uint32_t *labels; /* of the layers */
    uint32_t *work_labels;  /* of the kernels and copies; TRACE_NONE: the step is none */
    device_event **before, **after;
    uint64_t *correlations;
    int64_t *calls; /* indexed by step: when the host began to enqueue it */
    clocks spaces[PROGRAM_MAX_SPACES];
    uint32_t enqueue_row;
    bool failed; /* a call failed, so nothing of this run is recorded */
};

/* ---- Labels --------------------------------------------------------------------------------- */

static bool is_work(const program_step *s)
{
    return s->space && (s->act == PROGRAM_RUN || s->act == PROGRAM_COPY);
}

static size_t number_of(const device *d)
{
    size_t i = 1;
    while (device_at(i) && device_at(i) != d) i++;
    return i - 1;
}

static uint32_t label_kernel(const device_trace *t, size_t step)
{
    const program_step *s = &t->p->steps[step];
    str args = {0};
    trace_put_number(&args, "device", (double)number_of(t->p->spaces[s->space].device));
    trace_put_number(&args, "layer_id", (double)step);
    trace_put_text(&args, "layer", s->label);
    const trace_label l = {.name = s->kernel->name, .args = str_text(&args)};
    const uint32_t made = args.failed ? TRACE_NONE : tracer_label(&l);
    str_deinit(&args);
    return made;
}

static uint32_t label_copy(const device_trace *t, size_t step)
{
    const program_step *s = &t->p->steps[step];
    const program_tensor *from = &t->p->tensors[s->tensors[0]];
    str args = {0};
    trace_put_text(&args, "tensor", from->name);
    const trace_label l = {.name = from->space ? "D2H" : "H2D", .args = str_text(&args)};
    const uint32_t made = args.failed ? TRACE_NONE : tracer_label(&l);
    str_deinit(&args);
    return made;
}

/* ---- Life ----------------------------------------------------------------------------------- */

static bool create_step(device_trace *t, size_t step)
{
    const program_step *s = &t->p->steps[step];
    t->work_labels[step] = TRACE_NONE;
    if (!is_work(s)) return true;
    device *d = t->p->spaces[s->space].device;
    t->work_labels[step] = s->act == PROGRAM_COPY ? label_copy(t, step) : label_kernel(t, step);
    return !device_event_create(&t->before[step], d, NULL) &&
           !device_event_create(&t->after[step], d, NULL);
}

static bool create_moments(device_trace *t, const device_side *d)
{
    bool good = true;
    for (uint32_t i = 1; good && i < t->p->space_count; i++) {
        t->spaces[i].stream = device_side_stream(d, i);
        for (int k = 0; good && k < MOMENT_COUNT; k++)
            good =
                !device_event_create(&t->spaces[i].moments[k].event, t->p->spaces[i].device, NULL);
    }
    return good;
}

device_trace *device_trace_create(const program *p, const device_side *d, const uint32_t *labels)
{
    device_trace *t = mem_calloc(1, sizeof *t);
    if (!t) return NULL;
    t->p = p;
    t->labels = labels;
    t->work_labels = mem_calloc(p->step_count + 1, sizeof *t->work_labels);
    t->before = mem_calloc(p->step_count + 1, sizeof *t->before);
    t->after = mem_calloc(p->step_count + 1, sizeof *t->after);
    t->correlations = mem_calloc(p->step_count + 1, sizeof *t->correlations);
    t->calls = mem_calloc(p->step_count + 1, sizeof *t->calls);
    bool good = t->work_labels && t->before && t->after && t->correlations && t->calls &&
                create_moments(t, d);
    for (size_t i = 0; good && i < p->step_count; i++) good = create_step(t, i);
    if (good) return t;
    device_trace_destroy(t);
    return NULL;
}

void device_trace_destroy(device_trace *t)
{
    if (!t) return;
    for (size_t i = 0; i < t->p->step_count; i++) {
        if (t->before) device_event_destroy(t->before[i]);
        if (t->after) device_event_destroy(t->after[i]);
    }
    for (size_t i = 1; i < PROGRAM_MAX_SPACES; i++)
        for (int k = 0; k < MOMENT_COUNT; k++) device_event_destroy(t->spaces[i].moments[k].event);
    mem_free(t->work_labels);
    mem_free(t->before);
    mem_free(t->after);
    mem_free(t->correlations);
    mem_free(t->calls);
    mem_free(t);
}

/* ---- A run ---------------------------------------------------------------------------------- */

void device_trace_rows(device_trace *t)
{
    t->enqueue_row = tracer_row(TRACE_ENQUEUE);
    for (uint32_t i = 1; i < t->p->space_count; i++) {
        device_properties about;
        device *d = t->p->spaces[i].device;
        const bool known = !device_describe(&about, d, NULL);
        t->spaces[i].layer_row = tracer_device_layers(i, t->p->spaces[i].name);
        t->spaces[i].stream_row =
            tracer_device_row(number_of(d), known ? about.description : t->p->spaces[i].name);
    }
}

/* The event passes between the call and the end of the wait. If that takes long, another program
 * ran in between, so it is tried again. */
static void take_moment(device_trace *t, uint32_t space, moment_kind kind)
{
    clocks *c = &t->spaces[space];
    moment *m = &c->moments[kind];
    for (int i = 0; i < MOMENT_TRIES; i++) {
        const int64_t before = clock_ns();
        t->failed = t->failed || device_event_record(m->event, c->stream, NULL) ||
                    device_event_synchronize(m->event, NULL);
        const int64_t took = clock_ns() - before;
        m->host_ns = before + took / 2;
        if (took < SURE_NS || t->failed) return;
    }
}

void device_trace_start(device_trace *t)
{
    t->failed = false;
    for (uint32_t i = 1; i < t->p->space_count; i++) {
        take_moment(t, i, FIRST);
        take_moment(t, i, SECOND);
    }
}

bool device_trace_takes(const device_trace *t, size_t step)
{
    const program_step *s = &t->p->steps[step];
    return s->space || s->act != PROGRAM_RUN;
}

void device_trace_before(device_trace *t, size_t step)
{
    const program_step *s = &t->p->steps[step];
    if (!is_work(s)) return;
    t->correlations[step] = tracer_correlation();
    t->failed = t->failed || device_event_record(t->before[step], t->spaces[s->space].stream, NULL);
}

void device_trace_after(device_trace *t, size_t step, int64_t begin_ns, int64_t end_ns)
{
    const program_step *s = &t->p->steps[step];
    t->calls[step] = begin_ns;
    const trace_record r = {.start_ns = begin_ns,
                            .end_ns = end_ns,
                            .kind = TRACE_ENQUEUE,
                            .label = t->labels[step],
                            .row = t->enqueue_row,
                            .run = tracer_run(),
                            .words = {is_work(s) ? t->correlations[step] : 0}};
    if (is_work(s))
        t->failed =
            t->failed || device_event_record(t->after[step], t->spaces[s->space].stream, NULL);
    tracer_put(&r);
}

/* ---- The device's clock ---------------------------------------------------------------------- */

/* Nanoseconds of the device's clock since the first moment. */
static double device_ns(device_trace *t, const clocks *c, device_event *e)
{
    double ns = 0;
    t->failed = t->failed || device_event_elapsed(&ns, c->moments[FIRST].event, e, NULL);
    return ns;
}

static void fit(device_trace *t, clocks *c)
{
    const int64_t host = c->moments[LAST].host_ns - c->moments[FIRST].host_ns;
    const double all = device_ns(t, c, c->moments[LAST].event);
    const double early = device_ns(t, c, c->moments[SECOND].event);
    c->ns_per_ns = all > 0 ? (double)host / all : 1;
    const double expected = (double)(c->moments[SECOND].host_ns - c->moments[FIRST].host_ns);
    if (!t->failed) tracer_note_residual(llround(fabs(early * c->ns_per_ns - expected)));
}

/* Not before the call that enqueued it, and not behind the run, whatever the clocks say. */
static int64_t host_ns(device_trace *t, const clocks *c, device_event *e, int64_t call)
{
    const int64_t last = c->moments[LAST].host_ns;
    const int64_t at = c->moments[FIRST].host_ns + llround(device_ns(t, c, e) * c->ns_per_ns);
    return at > last ? last : at < call ? call : at;
}

static void put_work(device_trace *t, size_t step, int64_t start, int64_t end)
{
    const program_step *s = &t->p->steps[step];
    const clocks *c = &t->spaces[s->space];
    trace_record r = {.start_ns = start,
                      .end_ns = end,
                      .kind = TRACE_LAYER,
                      .label = t->labels[step],
                      .row = c->layer_row,
                      .run = tracer_run()};
    tracer_put(&r);
    r.kind = s->act == PROGRAM_COPY ? TRACE_COPY : TRACE_KERNEL;
    r.label = t->work_labels[step];
    r.row = c->stream_row;
    r.words[0] = t->correlations[step];
    if (s->act == PROGRAM_COPY) {
        r.words[0] = t->p->tensors[s->tensors[0]].size_bytes;
        r.words[1] = t->correlations[step];
    }
    tracer_put(&r);
}

void device_trace_finish(device_trace *t, int64_t *ends)
{
    for (uint32_t i = 1; i < t->p->space_count; i++) {
        take_moment(t, i, LAST);
        fit(t, &t->spaces[i]);
    }
    for (size_t i = 0; !t->failed && i < t->p->step_count; i++) {
        const program_step *s = &t->p->steps[i];
        if (!is_work(s)) continue;
        const int64_t start = host_ns(t, &t->spaces[s->space], t->before[i], t->calls[i]);
        const int64_t end = host_ns(t, &t->spaces[s->space], t->after[i], t->calls[i]);
        if (t->failed) return;
        put_work(t, i, start, end);
        ends[i] = end;
    }
}

uint32_t device_trace_row(const device_trace *t, size_t step)
{
    return t->spaces[t->p->steps[step].space].layer_row;
}
