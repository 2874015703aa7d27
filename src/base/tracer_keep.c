/* SPDX-License-Identifier: Apache-2.0 */
/* Which runs are kept: of each runner the first, the last and the slowest measured run, every
 * stride-th one, and the first and last warm-up run. The stride doubles when too many runs would be
 * kept, so the sample stays even however long the loop goes on. The slice of a run itself is always
 * kept. */
#include "base/tracer_state.h"

enum { SHRINK_RECORDS = 1 << 15, ALWAYS_KEPT = 3 };

static int64_t duration(const trace_run *r)
{
    return r->end_ns - r->start_ns;
}

void store_note_end(tracer_store *s, uint32_t run)
{
    trace_run *r = &s->runs[run];
    trace_process *p = &s->processes[r->runs];
    p->count++;
    if (r->is_warm_up) {
        if (p->first_warm_up == TRACE_NONE) p->first_warm_up = run;
        p->last_warm_up = run;
        return;
    }
    r->measured_index = p->measured++;
    if (p->first == TRACE_NONE) p->first = run;
    if (p->slowest == TRACE_NONE || duration(r) > duration(&s->runs[p->slowest])) p->slowest = run;
    p->last = run;
    while (s->limits.runs > ALWAYS_KEPT && (int64_t)p->measured > s->limits.runs &&
           (int64_t)(p->measured / p->stride) > s->limits.runs - ALWAYS_KEPT)
        p->stride *= 2;
}

static bool is_kept(const tracer_store *s, uint32_t run, bool at_end)
{
    const trace_run *r = &s->runs[run];
    const trace_process *p = &s->processes[r->runs];
    const int64_t most = s->limits.runs;
    if (!r->end_ns) return !at_end; /* still running, or failed */
    if (most < 0 || (!r->is_warm_up && (int64_t)p->measured <= most)) return true;
    if (r->is_warm_up) return most > 0 && (run == p->first_warm_up || run == p->last_warm_up);
    if (run == p->slowest) return most > 0;
    if (run == p->first) return most > 1;
    if (run == p->last) return most > 2;
    return most > ALWAYS_KEPT && r->measured_index % p->stride == 0;
}

void store_shrink_now(tracer_store *s, bool at_end)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->record_count; i++) {
        trace_record *r = &s->records[i];
        const bool keeps = r->run == TRACE_NONE || is_kept(s, r->run, at_end);
        if (r->kind == TRACE_RUN) r->words[2] = keeps;
        if (keeps || r->kind == TRACE_RUN) s->records[kept++] = *r;
    }
    s->record_count = s->shrunk = kept;
}

void store_shrink(tracer_store *s)
{
    if (s->limits.runs >= 0 && s->record_count > 2 * s->shrunk + SHRINK_RECORDS)
        store_shrink_now(s, false);
}
