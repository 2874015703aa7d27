/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs in the same memory of the caller: a step that reads an input after an output
 * was written over it would compute something else, so only what is known to work is let through.
 */
#include "base/alloc.h"
#include "engine/program/run_parts.h"

static bool overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return a_bytes && b_bytes && (x < y ? y - x < a_bytes : x - y < b_bytes);
}

/* The only operand of the only step that reads an input. */
typedef struct reader {
    uint32_t step, operand, count;
} reader;

static void find_readers(reader *readers, const program *p)
{
    for (uint32_t i = 0; i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        for (uint32_t k = 0; k < s->input_count + s->captured_count; k++) {
            if (s->tensors[k] == PROGRAM_NO_TENSOR) continue;
            const program_tensor *t = &p->tensors[s->tensors[k]];
            if (t->place != PROGRAM_INPUT) continue;
            reader *r = &readers[t->offset];
            *r = (reader){.step = i, .operand = k, .count = r->count + 1};
        }
    }
}

/* May the step write its output `index` over the operand? `room`: a buffer was set for it. */
static bool writes_over(const program_step *s, uint32_t operand, uint32_t index, bool same_size,
                        bool room)
{
    const uint32_t flags = s->kernel ? s->kernel->flags : 0;
    if (!s->kernel || s->act != PROGRAM_RUN || s->space) return false;
    if (same_size && !index && s->plan.in_place >= 0 && (uint32_t)s->plan.in_place == operand)
        return true;
    if (index < 1 || index > 2) return false;
    return (flags & KERNEL_JOINS_CACHES && operand == index + 3) ||
           (flags & KERNEL_SHARES_CACHES && operand == index + 2 && same_size) ||
           (flags & KERNEL_GROWS_CACHES && operand == index + 2 && room);
}

static bool has_room(const program_context *c, uint32_t step, uint32_t index)
{
    return index >= 1 && index <= 2 && c->launches[step].run.rooms[index - 1].rows;
}

static bool is_allowed(const program_context *c, const reader *r, size_t output, bool same_size)
{
    const program *p = c->p;
    bool written = false;
    if (r->count != 1) return !r->count; /* nothing reads the input */
    for (uint32_t i = 0; i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        for (uint32_t k = 0; k < s->output_count; k++) {
            const uint32_t at = s->tensors[s->input_count + s->captured_count + k];
            if (at == PROGRAM_NO_TENSOR || p->tensors[at].place != PROGRAM_OUTPUT ||
                p->tensors[at].offset != output)
                continue;
            if (i != r->step || !writes_over(s, r->operand, k, same_size, has_room(c, i, k)))
                return false;
            written = true;
        }
    }
    return written;
}

static pgy_status refuse(const program_tensor *x, const program_tensor *y, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_ARGUMENT,
                         "output '%s' lies in the memory of input '%s', which may be read after "
                         "the output is written; expected memory of its own",
                         y->name, x->name);
}

pgy_status program_context_check_overlap(const program_context *c, const void *const *inputs,
                                         void *const *outputs, pgy_error *err)
{
    const program *p = c->p;
    reader *readers = NULL;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < p->tensor_count; i++) {
        const program_tensor *x = &p->tensors[i];
        if (x->place != PROGRAM_INPUT) continue;
        const void *from = inputs[x->offset];
        for (size_t k = 0; !st && k < p->output_count; k++) {
            const program_tensor *y = &p->tensors[p->outputs[k]];
            if (!overlap(from, x->size_bytes, outputs[k], y->size_bytes)) continue;
            if (!readers) {
                readers = mem_calloc(p->input_count + 1, sizeof *readers);
                if (!readers) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
                find_readers(readers, p);
            }
            if (from != outputs[k] ||
                !is_allowed(c, &readers[x->offset], k, x->size_bytes == y->size_bytes))
                st = refuse(x, y, err);
        }
    }
    mem_free(readers);
    return st;
}
