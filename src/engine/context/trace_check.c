/* SPDX-License-Identifier: Apache-2.0 */
/* Where NaN and infinity come from, in a trace. Looking at every tensor would slow the run down, so
 * a recorded run only looks at its outputs, behind the recorded time. If one is not finite, the
 * same program runs again and each step's results are looked at; the instants stand where those
 * steps ended in the recorded run. */
#include <string.h>

#include "base/alloc.h"
#include "base/tracer.h"
#include "base/tracer_text.h"
#include "engine/build/debug.h"
#include "engine/context/state.h"

/* The elements of a tensor that are not numbers. */
typedef struct findings {
    uint64_t nan, inf, first_nan, first_inf;
} findings;

/* A float type: its bytes, and masks of exponent and mantissa. */
typedef struct float_form {
    pgy_dtype dtype;
    size_t bytes;
    uint64_t exponent, mantissa;
} float_form;

static const float_form FORMS[] = {
    {PGY_F32, 4, 0x7f800000, 0x007fffff},
    {PGY_F16, 2, 0x7c00, 0x03ff},
    {PGY_BF16, 2, 0x7f80, 0x007f},
    {PGY_F64, 8, 0x7ff0000000000000, 0x000fffffffffffff},
};

static const float_form *form_of(pgy_dtype dtype)
{
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++)
        if (FORMS[i].dtype == dtype) return &FORMS[i];
    return NULL;
}

static uint64_t load(const char *from, size_t bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, from, bytes);
    return bits;
}

static void note(findings *f, uint64_t bits, uint64_t index, const float_form *form)
{
    if (bits & form->mantissa) {
        if (!f->nan++) f->first_nan = index;
    } else if (!f->inf++) {
        f->first_inf = index;
    }
}

static findings look(pgy_dtype dtype, const void *data, uint64_t size_bytes)
{
    findings f = {0};
    const float_form *form = form_of(dtype);
    if (!form || !data) return f;
    const size_t bytes = form->bytes;
    for (uint64_t i = 0; i < size_bytes / bytes; i++) {
        const uint64_t bits = load((const char *)data + i * bytes, bytes);
        if ((bits & form->exponent) == form->exponent) note(&f, bits, i, form);
    }
    return f;
}

/* ---- The second run ------------------------------------------------------------------------- */

typedef struct search {
    const prepared *p;
    bool *tainted; /* indexed by tensor: it has values that are not finite */
    uint32_t run;
} search;

static bool comes_from_input(const search *s, const program_step *step)
{
    const size_t reads = (size_t)step->input_count + step->captured_count;
    for (size_t i = 0; i < reads; i++)
        if (step->tensors[i] != PROGRAM_NO_TENSOR && s->tainted[step->tensors[i]]) return true;
    return false;
}

static void put_instant(const search *s, uint32_t index, const char *what, const char *tensor,
                        uint64_t count, uint64_t first)
{
    const int64_t at = program_context_step_end(s->p->run, index);
    str args = {0};
    trace_put_text(&args, "tensor", tensor);
    trace_put_text(&args, "node", s->p->program->steps[index].label);
    const trace_label label = {.name = what, .args = str_text(&args)};
    const trace_record r = {.start_ns = at,
                            .end_ns = at,
                            .kind = TRACE_CHECK,
                            .label = args.failed ? TRACE_NONE : tracer_label(&label),
                            .row = program_context_step_row(s->p->run, index),
                            .run = s->run,
                            .words = {count, first}};
    tracer_put(&r);
    str_deinit(&args);
}

static findings look_at(const program_tensor *t, const void *data)
{
    const findings raw = look(t->dtype, data, t->size_bytes);
    if (t->layout == KERNEL_LINEAR || !(raw.nan | raw.inf)) return raw;
    void *rows = debug_in_rows(t, data);
    const findings f = rows ? look(t->dtype, rows, t->size_bytes) : raw;
    mem_free(rows);
    return f;
}

static void look_at_step(void *user, uint32_t index, uint32_t tensor, const void *data)
{
    search *s = user;
    const program_tensor *t = &s->p->program->tensors[tensor];
    const findings f = look_at(t, data);
    if (!(f.nan | f.inf)) return;
    s->tainted[tensor] = true;
    if (comes_from_input(s, &s->p->program->steps[index])) return;
    if (f.nan) put_instant(s, index, "NaN", t->name, f.nan, f.first_nan);
    if (f.inf) put_instant(s, index, "Inf", t->name, f.inf, f.first_inf);
}

static bool are_finite(const program *p, void *const *outputs)
{
    for (size_t i = 0; i < p->output_count; i++) {
        const program_tensor *t = &p->tensors[p->outputs[i]];
        const findings f = look(t->dtype, outputs[i], t->size_bytes);
        if (f.nan | f.inf) return false;
    }
    return true;
}

void context_trace_values(const prepared *p, const void *const *inputs, void *const *outputs)
{
    search s = {.p = p, .run = tracer_run()};
    if (s.run == TRACE_NONE || !tracer_checks_values() || are_finite(p->program, outputs)) return;
    s.tainted = mem_calloc(p->program->tensor_count + 1, sizeof *s.tainted);
    const program_watch w = {.user = &s, .step = look_at_step};
    pgy_error ignored = {0};
    if (s.tainted && program_execute(p->run, inputs, outputs, &w, &ignored)) s.run = TRACE_NONE;
    mem_free(s.tainted);
}
