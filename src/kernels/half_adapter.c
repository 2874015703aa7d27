/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a float32 kernel on a problem in 16-bit floats. `prepare` widens constants. Other tensors
 * are converted chunk by chunk in the scratch memory of a thread if rows are independent
 * (half_adapter_rows.c), else as a whole, in extra phases before and behind those of the inner
 * kernel. */
#include "kernels/half_adapter.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/half.h"
#include "kernels/packing.h"

typedef half_adapter_tensor tensor;
typedef half_adapter_params params;

static size_t round_up(size_t size)
{
    return (size + 63) / 64 * 64;
}

/* Where the inner kernel's parameters begin, behind those of the adapter. */
static size_t inner_offset(size_t tensor_count)
{
    return round_up(sizeof(params) + tensor_count * sizeof(tensor));
}

static kernel_tensor *tensor_of(kernel_problem *u, size_t i)
{
    return i < u->input_count ? &u->inputs[i] : &u->outputs[i - u->input_count];
}

static bool has_half(const kernel_problem *u)
{
    for (size_t i = 0; i < u->input_count; i++)
        if (half_is(u->inputs[i].dtype)) return true;
    for (size_t i = 0; i < u->output_count; i++)
        if (half_is(u->outputs[i].dtype) || u->outputs[i].rounds) return true;
    return false;
}

/* ---- Widening a problem --------------------------------------------------------------------- */

/* Does the inner kernel read the constant weights in 16 bits? */
static bool keeps(const kernel *inner, const kernel_problem *u, size_t i)
{
    return i == 1 && i < u->input_count && u->inputs[1].data &&
           (inner->flags & KERNEL_KEEPS_HALF_WEIGHTS);
}

/* Is this a constant to be widened? Not if it has more than `most` elements, nor if it is packed
 * already and no longer there. */
static bool widens(const kernel *inner, const kernel_problem *u, size_t i, size_t most)
{
    const kernel_tensor *t = &u->inputs[i];
    if (i >= u->input_count || !half_is(t->dtype) || !t->data || keeps(inner, u, i)) return false;
    return kernel_count(t) <= most && !(u->keeps_packed && t->elsewhere);
}

/* Counts the elements of constants to be widened. */
static size_t count_constants(const kernel *inner, const kernel_problem *u, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < u->input_count; i++)
        if (widens(inner, u, i, most)) count += round_up(kernel_count(&u->inputs[i]));
    return count;
}

/* False: out of memory, or the elements cannot be had. */
static bool widen_constant(float *to, const kernel_problem *u, const kernel_tensor *t)
{
    const size_t bytes = kernel_size_bytes(t);
    void *copy = t->elsewhere ? mem_alloc_block(bytes) : NULL;
    const bool there = !t->elsewhere || (copy && kernel_read_constant(copy, u, t));
    if (there)
        half_loops_of(t->dtype, cpu_features())->widen(to, copy ? copy : t->data, kernel_count(t));
    mem_free_block(copy, copy ? bytes : 0);
    return there;
}

/* Makes the float32 problem. Constants of up to `most` elements are widened into `room`; larger
 * ones keep their 16-bit data, which the inner kernel must not read. False: out of memory. */
static bool widen_problem(kernel_problem *wide, const kernel *inner, const kernel_problem *u,
                          float *room, size_t most)
{
    *wide = *u;
    wide->self = inner;
    for (size_t i = 0; i < u->input_count + u->output_count; i++) {
        kernel_tensor *t = tensor_of(wide, i);
        if (!half_is(t->dtype) || keeps(inner, u, i)) continue;
        if (widens(inner, u, i, most)) {
            if (!widen_constant(room, u, t)) return false;
            t->data = room;
            t->elsewhere = false;
            room += round_up(kernel_count(t));
        }
        t->dtype = PGY_F32;
    }
    return true;
}

/* Is no tensor but constants in 16 bits? Then chunks would be copied, not converted. */
static bool is_held(const kernel_problem *u)
{
    for (size_t i = 0; i < u->input_count; i++)
        if (half_is(u->inputs[i].dtype) && !u->inputs[i].data) return false;
    for (size_t i = 0; i < u->output_count; i++)
        if (half_is(u->outputs[i].dtype)) return false;
    return true;
}

/* ---- Accepting ------------------------------------------------------------------------------ */

/* Estimates the nanoseconds of all conversions. */
static double conversion(const kernel_problem *u, bool in_chunks)
{
    double count = 0;
    kernel_problem problem = *u;
    for (size_t i = 0; i < u->input_count + u->output_count; i++) {
        const kernel_tensor *t = tensor_of(&problem, i);
        if (half_is(t->dtype) && !t->data) count += (double)kernel_count(t);
    }
    return 100 + count * (in_chunks ? 0.06 : 0.2);
}

static bool half_adapter_accept(kernel_problem *u, double *cost_ns)
{
    const kernel *inner = half_adapter_inner(u->self);
    kernel_problem wide = *u;
    half_adapter_rows rows;
    if (!has_half(u) || kernel_accept(inner, &wide, cost_ns)) return false;
    const size_t count = count_constants(inner, u, KERNEL_READABLE);
    float *room = mem_alloc_aligned(64, count * sizeof *room + 64);
    if (!room) return false;
    const bool accepted = widen_problem(&wide, inner, u, room, KERNEL_READABLE) &&
                          kernel_accept(inner, &wide, cost_ns);
    if (accepted) {
        *cost_ns += conversion(u, half_adapter_cut(&rows, inner, &wide));
        for (size_t i = 0; i < u->input_count + u->output_count; i++)
            tensor_of(u, i)->layout = tensor_of(&wide, i)->layout;
    }
    mem_free(room);
    return accepted;
}

/* ---- Preparing ------------------------------------------------------------------------------ */

/* State of half_adapter_prepare. */
typedef struct preparation {
    const kernel *inner;
    const kernel_problem *problem;
    kernel_problem wide;
    half_adapter_rows rows;
    bool in_chunks;
    kernel_plan plan; /* plan of the inner kernel */
    float *constants; /* all constants that are converted, in float32 */
    params *p;
    size_t packed_bytes, memory_bytes; /* bytes assigned to tensors so far */
} preparation;

/* Constants that the inner kernel did not pack follow its packed bytes. */
static void place_constant(preparation *w, size_t i)
{
    tensor *t = &w->p->tensors[i];
    t->packed = true;
    t->source = w->packed_bytes;
    w->packed_bytes += round_up(t->count * sizeof(float));
}

static void place_tensor(preparation *w, size_t i)
{
    tensor *t = &w->p->tensors[i];
    kernel_problem problem = *w->problem;
    const kernel_tensor *k = tensor_of(&problem, i);
    const bool packed = i < problem.input_count && (w->plan.packed_inputs >> i & 1);
    const bool half = half_is(k->dtype) && !keeps(w->inner, w->problem, i);
    const bool wide = k->rounds && i >= problem.input_count && !(w->inner->flags & KERNEL_ROUNDS);
    const size_t bits = pgy_dtype_describe(k->dtype)->bits;
    if (!k->dtype || packed || bits < 8) return;
    *t = (tensor){.half = half   ? (uint32_t)k->dtype
                          : wide ? (uint32_t)k->rounds
                                 : 0,
                  .wide = wide,
                  .item = half ? sizeof(float) : (uint8_t)(bits / 8),
                  .row_count = w->in_chunks ? w->rows.row_count[i] : 0,
                  .count = kernel_size_bytes(k) * 8 / bits};
    if (half && k->data) place_constant(w, i);
    if (t->packed && !t->row_count) {
        t->place = PLACE_PACKED;
        t->at = t->source;
    } else if (half || t->row_count) {
        t->place = PLACE_WIDE;
        t->at = w->memory_bytes;
        w->memory_bytes +=
            round_up((t->row_count ? t->row_count * w->rows.chunk : t->count) * t->item);
    }
}

static void place_memory(preparation *w, kernel_plan *out)
{
    params *p = w->p;
    p->inner_memory = w->memory_bytes;
    p->inner_scratch = p->inner_memory + round_up(w->plan.workspace_bytes);
    if (w->in_chunks) {
        out->scratch_bytes = p->inner_scratch + w->plan.scratch_bytes;
    } else {
        out->workspace_bytes = p->inner_memory + w->plan.workspace_bytes;
        out->scratch_bytes = w->plan.scratch_bytes;
        p->inner_scratch = 0;
    }
}

static bool half_adapter_fill(void *to, const kernel_problem *u, const void *user)
{
    const preparation *w = user;
    (void)u;
    memset(to, 0, w->packed_bytes);
    if (w->plan.packed_bytes) memcpy(to, w->plan.packed, w->plan.packed_bytes);
    for (size_t i = 0; i < w->problem->input_count; i++) {
        const tensor *t = &w->p->tensors[i];
        if (t->packed)
            memcpy((char *)to + t->source, w->wide.inputs[i].data,
                   kernel_count(&w->wide.inputs[i]) * sizeof(float));
    }
    return true;
}

/* The inner kernel's packed bytes followed by other constants: a form of its own, if the inner one
 * can be named and its weights come first among the inputs. */
static bool name_form(kernel_packing *how, char form[24], const preparation *w)
{
    const packed_recipe *r = w->plan.piece ? packed_piece_recipe(w->plan.piece) : NULL;
    if (!r || !r->source_count || strlen(r->form) > 22) return false;
    for (uint32_t i = 0; i < w->problem->input_count; i++)
        if (w->p->tensors[i].packed) how->inputs |= 1u << i;
    if (how->inputs & ((2u << r->sources[0].input) - 1)) return false;
    for (size_t i = 0; i < r->source_count; i++) how->inputs |= 1u << r->sources[i].input;
    memcpy(how->numbers, r->numbers, sizeof how->numbers);
    snprintf(form, 24, "%.22s+", r->form);
    how->form = form;
    return true;
}

/* Packs the inner kernel's packed bytes, then the constants in float32. */
static pgy_status half_adapter_pack(kernel_plan *out, const preparation *w, pgy_error *err)
{
    char form[24];
    kernel_packing how = {
        .size_bytes = w->packed_bytes, .fill = half_adapter_fill, .user = w, .any_address = true};
    out->packed_inputs = w->plan.packed_inputs;
    for (size_t i = 0; i < w->problem->input_count; i++)
        if (w->p->tensors[i].packed) out->packed_inputs |= 1u << i;
    out->packed_bytes = w->packed_bytes;
    out->packed_form = w->plan.packed_form;
    if (!w->packed_bytes) return PGY_OK;
    if (w->problem->keeps_packed) {
        if (w->packed_bytes == round_up(w->plan.packed_bytes))
            out->packed_bytes = w->plan.packed_bytes;
        return PGY_OK;
    }
    if (w->plan.piece && w->packed_bytes == round_up(w->plan.packed_bytes)) {
        out->packed = w->plan.packed; /* nothing follows, so the piece is shared */
        out->packed_bytes = w->plan.packed_bytes;
        out->piece = packed_piece_retain(w->plan.piece);
        return PGY_OK;
    }
    if (name_form(&how, form, w)) return kernel_pack(out, &w->wide, &how, err);
    out->packed = mem_alloc_aligned(64, w->packed_bytes);
    if (!out->packed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for packed weights");
    (void)half_adapter_fill(out->packed, &w->wide, w);
    return PGY_OK;
}

/* Finds the first input that may share memory with output 0: each chunk of it is staged before the
 * same chunk of the output is written. */
static int8_t find_in_place(const preparation *w)
{
    const tensor *t = w->p->tensors, *y = &t[w->problem->input_count];
    for (size_t i = 0; w->in_chunks && y->half && i < w->problem->input_count; i++)
        if ((y->wide ? !t[i].half && t[i].item == y->item : t[i].half) && !t[i].packed &&
            t[i].row_count && t[i].row_count == y->row_count)
            return (int8_t)i;
    return -1;
}

static void lay_out(preparation *w, kernel_plan *out)
{
    params *p = w->p;
    const kernel_problem *u = w->problem;
    p->inner_phases = w->plan.phases;
    p->inner_parts = w->plan.parts;
    p->has_packed = w->plan.packed_bytes > 0;
    w->packed_bytes = round_up(w->plan.packed_bytes);
    for (size_t i = 0; i < u->input_count + u->output_count; i++) place_tensor(w, i);
    place_memory(w, out);
    out->in_place = find_in_place(w);
    if (w->in_chunks) {
        p->rows = w->rows.rows;
        p->chunk = w->rows.chunk;
        const uint64_t chunks = (p->rows + p->chunk - 1) / p->chunk;
        out->phases = 1;
        out->parts = (uint32_t)(chunks < 256 ? chunks : 256);
        return;
    }
    for (size_t i = 0; i < u->input_count + u->output_count; i++)
        if (p->tensors[i].place == PLACE_WIDE || p->tensors[i].wide)
            *(i < u->input_count ? &p->widens : &p->narrows) = 1;
    out->phases = p->widens + p->inner_phases + p->narrows;
    out->parts = p->inner_parts;
}

static pgy_status half_adapter_finish(kernel_plan *out, preparation *w, pgy_error *err)
{
    const size_t inner_at = inner_offset(w->problem->input_count + w->problem->output_count);
    w->p = mem_calloc(1, inner_at + w->plan.params_bytes);
    if (!w->p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    params *p = w->p;
    *out = (kernel_plan){.params = p, .params_bytes = inner_at + w->plan.params_bytes};
    p->level = w->inner->needs > CPU_PORTABLE ? w->inner->needs : cpu_features();
    p->inputs = (uint32_t)w->problem->input_count;
    p->outputs = (uint32_t)w->problem->output_count;
    p->inner_at = inner_at;
    memcpy((char *)p + inner_at, w->plan.params, w->plan.params_bytes);
    lay_out(w, out);
    const pgy_status st = half_adapter_pack(out, w, err);
    if (st) kernel_plan_deinit(out);
    return st;
}

static pgy_status half_adapter_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    preparation w = {.inner = half_adapter_inner(u->self), .problem = u};
    const size_t count = count_constants(w.inner, u, SIZE_MAX);
    w.constants = mem_alloc_aligned(64, count * sizeof(float) + 64);
    if (!w.constants || !widen_problem(&w.wide, w.inner, u, w.constants, SIZE_MAX)) {
        mem_free(w.constants);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory for weights");
    }
    w.in_chunks = !is_held(u) && half_adapter_cut(&w.rows, w.inner, &w.wide);
    pgy_status st = w.inner->prepare(&w.plan, w.in_chunks ? &w.rows.problem : &w.wide, err);
    if (!st) st = half_adapter_finish(out, &w, err);
    kernel_plan_deinit(&w.plan);
    mem_free(w.constants);
    return st;
}

/* ---- Plans from files ----------------------------------------------------------------------- */

static uint64_t sum3(uint64_t at, uint64_t a, uint64_t b)
{
    return extent_add(at, extent_mul(a, b));
}

static void raise_to(uint64_t *most, uint64_t value)
{
    if (value > *most) *most = value;
}

/* Does the inner kernel get an address for tensor i? */
static bool is_resolved(const params *p, const kernel_claim *q, uint32_t i)
{
    const tensor *t = &p->tensors[i];
    return t->place == PLACE_PACKED || extent_has(q, i) || (t->place == PLACE_WIDE && t->packed);
}

static bool is_valid_tensor(const params *p, uint32_t i)
{
    const tensor *t = &p->tensors[i];
    const bool input = i < p->inputs;
    if (t->place > PLACE_WIDE || t->at % 64 || t->source % 64) return false;
    if (t->half && !half_is((pgy_dtype)t->half)) return false;
    if (t->place == PLACE_PACKED) return input && !t->row_count;
    if (t->wide > 1 || (t->wide && (input || !t->half || t->item != sizeof(float)))) return false;
    if (t->place == PLACE_CALLER) return !t->row_count && t->wide == (t->half != 0);
    if (!p->chunk) return t->half && !t->packed && !t->row_count && !t->wide;
    if (!t->row_count) return input && t->half && !t->packed;
    if (t->half || t->packed) return t->item == sizeof(float) && (input || !t->packed);
    return t->item == 1 || t->item == 2 || t->item == 4 || t->item == 8;
}

/* States the extent of tensor i, of which the inner kernel touches `touched` bytes. Widened tensors
 * lie one behind the other, so none overlaps another: *memory is the end of the last one. */
static bool extent_of_tensor(kernel_extent *e, uint64_t *memory, const params *p,
                             const kernel_claim *q, uint32_t i, uint64_t touched)
{
    const tensor *t = &p->tensors[i];
    const uint64_t elements = t->row_count ? extent_mul(p->rows, t->row_count) : t->count;
    const uint64_t staged = t->row_count ? extent_mul(p->chunk, t->row_count) : t->count;
    const uint64_t item = t->row_count ? t->item : sizeof(float);
    if (t->place == PLACE_CALLER) extent_tensor(e, i, touched, 1);
    if (t->place == PLACE_CALLER && t->wide) extent_tensor(e, i, t->count, sizeof(float));
    if (t->place == PLACE_PACKED) raise_to(&e->packed, extent_add(t->at, touched));
    if (t->place != PLACE_WIDE) return true;
    if (touched > extent_mul(staged, item) || t->at < *memory) return false;
    *memory = sum3(t->at, staged, item);
    if (t->packed)
        raise_to(&e->packed, sum3(t->source, elements, sizeof(float)));
    else if (t->row_count || extent_has(q, i))
        extent_tensor(e, i, elements, t->half && !t->wide ? sizeof(uint16_t) : t->item);
    else
        extent_tensor(e, i, touched, 1); /* the inner kernel gets no address */
    return true;
}

static bool ask_inner(kernel_extent *out, const params *p, const kernel_claim *q)
{
    kernel_claim claim = {.params = (const char *)p + p->inner_at,
                          .params_bytes = q->params_bytes - p->inner_at,
                          .input_count = q->input_count,
                          .output_count = q->output_count};
    for (uint32_t i = 0; i < p->inputs + p->outputs; i++)
        if (is_resolved(p, q, i)) claim.present |= UINT64_C(1) << i;
    return kernel_extent_of(out, half_adapter_inner(q->self), &claim);
}

/* States the inner kernel's workspace, scratch, phases and parts. `memory`: end of the widened
 * tensors, behind which they lie. */
static bool extent_of_memory(kernel_extent *e, uint64_t memory, const params *p,
                             const kernel_extent *inner)
{
    const uint64_t end = extent_add(p->inner_memory, inner->workspace);
    if (p->inner_memory < memory || (p->chunk && p->inner_scratch < end)) return false;
    if (p->chunk) {
        e->scratch = extent_add(p->inner_scratch, inner->scratch);
        return true;
    }
    e->workspace = end;
    e->scratch = inner->scratch;
    e->phases = p->widens + p->inner_phases + p->narrows;
    e->parts = inner->parts;
    return true;
}

static bool half_adapter_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = q->params;
    uint64_t memory = 0;
    kernel_extent inner;
    if (q->params_bytes < sizeof *p) return extent_refuse(e, "size of the parameters");
    if (p->inputs != q->input_count || p->outputs != q->output_count)
        return extent_refuse(e, "number of operands");
    if (p->inner_at != inner_offset(p->inputs + p->outputs) || q->params_bytes < p->inner_at)
        return extent_refuse(e, "size of the parameters");
    if (!extent_level(e, p->level)) return false;
    if (p->widens > 1 || p->narrows > 1 || p->inner_memory % 64 || p->inner_scratch % 64 ||
        (p->chunk && (!p->rows || p->chunk > p->rows || p->rows > INT64_MAX)))
        return extent_refuse(e, "chunks");
    for (uint32_t i = 0; i < p->inputs + p->outputs; i++)
        if (!is_valid_tensor(p, i)) return extent_refuse(e, "places of operands");
    if (!ask_inner(&inner, p, q)) return extent_refuse(e, inner.why);
    if (p->inner_phases != inner.phases || (inner.packed && !p->has_packed))
        return extent_refuse(e, "phases");
    e->packed = inner.packed;
    for (uint32_t i = 0; i < p->inputs + p->outputs; i++) {
        if (!extent_of_tensor(e, &memory, p, q, i, inner.tensors[i]))
            return extent_refuse(e, "places of operands");
        if (i < p->inputs && p->tensors[i].place == PLACE_CALLER)
            e->indices |= inner.indices & UINT32_C(1) << i;
    }
    return extent_of_memory(e, memory, p, &inner) || extent_refuse(e, "places of memory");
}

/* ---- The entries ---------------------------------------------------------------------------- */

const kernel *half_adapter_table(const kernel *const *families)
{
    static const kernel LIKE = {.accept = half_adapter_accept,
                                .prepare = half_adapter_prepare,
                                .run = half_adapter_run,
                                .extent = half_adapter_extent};
    return half_adapter_wrap(families, &LIKE);
}
