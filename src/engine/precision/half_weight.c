/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of layers in 16 bits. They are read in pieces, and large ones are converted only when a
 * kernel packs them: a build holds neither the file's pages nor a second copy of all weights. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "engine/precision/precision.h"
#include "graph/mask.h"
#include "onnx/computed.h"

static const char LOG_PATH[] = "engine/precision/half_weight.c";

enum { PIECE = 64 * 1024, ONNX_FLOAT = 1 };

float precision_largest(pgy_dtype t)
{
    return t == PGY_F16 ? 65504 : 0x1.fep127f;
}

/* ---- Magnitudes ----------------------------------------------------------------------------- */

/* The largest of these finite magnitudes, at least `largest`. Floats that are not negative have the
 * order of their bits. */
static float largest_of(const float *x, size_t count, float largest)
{
    enum { MAGNITUDE = 0x7fffffff, INFINITE = 0x7f800000 };
    uint32_t most;
    memcpy(&most, &largest, sizeof most);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits &= MAGNITUDE;
        bits = bits < INFINITE ? bits : 0;
        most = bits > most ? bits : most;
    }
    memcpy(&largest, &most, sizeof largest);
    return largest;
}

static pgy_status measure_stored(float *out, pgy_model *m, const pgy_onnx_tensor *t, pgy_error *err)
{
    element_reader r = {0};
    float *piece = mem_alloc(PIECE * sizeof *piece);
    pgy_status st = piece ? element_reader_open(&r, m, t, err) : graph_no_memory(err);
    for (size_t at = 0; !st && at < r.size_bytes && !cancel_requested();) {
        const size_t left = r.size_bytes - at, most = PIECE * sizeof *piece;
        const size_t bytes = left < most ? left : most;
        st = element_reader_get(&r, piece, at, bytes, err);
        if (!st) *out = largest_of(piece, bytes / sizeof *piece, *out);
        at += bytes;
    }
    element_reader_close(&r);
    mem_free(piece);
    return st ? st : cancel_check(err);
}

static pgy_status measure_constant(float *out, const precision *x, pgy_value *v, pgy_error *err)
{
    pgy_tensor *t = NULL;
    const pgy_status st = fold_constant(&t, &x->p.f, v, err);
    if (!st && t) *out = largest_of(pgy_tensor_data(t), pgy_tensor_count(t), 0);
    pgy_tensor_release(t);
    return st;
}

static bool is_stored(const pgy_value *v)
{
    return v->initializer && v->initializer->data_type == ONNX_FLOAT;
}

/* The largest finite magnitude of a constant in float32. */
static float measure(precision *x, pgy_value *v)
{
    precision_value *entry = precision_of(x, v);
    if (!entry || x->p.status) return 0;
    if (!entry->measured)
        x->p.status = is_stored(v) ? measure_stored(&entry->largest, x->p.f.graph->model,
                                                    v->initializer, x->p.err)
                                   : measure_constant(&entry->largest, x, v, x->p.err);
    entry->measured = true;
    return entry->largest;
}

const char *precision_unfit_weight(precision *x, pgy_value *v, bool mask)
{
    int64_t count = 1;
    if (!v || !pattern_is_constant(&x->p, v) || pattern_dtype(v) != PGY_F32) return NULL;
    const float largest = measure(x, v);
    for (int32_t d = 0; d < pattern_rank(v) && count; d++) count = pattern_size(v, d) == 1;
    if (largest > precision_largest(PGY_F16) && !mask)
        return "has values beyond 65504, the largest float16";
    return count && largest > 0 && (double)largest < 6e-8
               ? "is so small that float16 rounds it to 0"
               : NULL;
}

/* ---- At once -------------------------------------------------------------------------------- */

/* Limits finite elements of a weight to the range of type t, so that none becomes infinite. */
static void clamp(pgy_tensor *w, const pgy_value *from, pgy_dtype t)
{
    const mask_use use = graph_mask_use(from);
    const float largest = precision_largest(t), to = graph_mask_limit(use, largest);
    float *x = pgy_tensor_data(w);
    size_t clamped = 0;
    for (size_t i = 0; i < pgy_tensor_count(w); i++) {
        if (!isfinite(x[i]) || fabsf(x[i]) <= largest) continue;
        x[i] = copysignf(to, x[i]);
        clamped++;
    }
    if (clamped)
        pgy_log_write(use == MASK_WHOLE ? PGY_LOG_INFO : PGY_LOG_WARNING, LOG_PATH, __LINE__,
                      "Weight '%s': clamped %zu values that would be infinite in %s to +-%g",
                      from->name, clamped, pgy_dtype_name(t), (double)to);
}

static void convert_at_once(precision *x, pgy_value *from, pgy_value *to)
{
    pgy_tensor *came = NULL, *wide = NULL, *t = NULL;
    const pgy_onnx_tensor *stored = NULL;
    pattern *p = &x->p;
    p->status = fold_constant(&came, &p->f, from, p->err);
    if (!p->status) p->status = pgy_tensor_cast(&wide, pgy_tensor_view(came), PGY_F32, p->err);
    if (!p->status && to->dtype != PGY_F32) clamp(wide, from, to->dtype);
    if (!p->status) p->status = pgy_tensor_cast(&t, pgy_tensor_view(wide), to->dtype, p->err);
    if (!p->status) p->status = weight_create(&stored, p->f.graph->model, to->name, t, p->err);
    if (!p->status) p->status = value_set_weight(to, stored, p->err);
    pgy_tensor_release(came);
    pgy_tensor_release(wide);
    pgy_tensor_release(t);
}

/* ---- On demand ------------------------------------------------------------------------------ */

/* parts_maker.make; `user` is the type. */
static pgy_status convert_part(const tensor_part *part, void *user, pgy_error *err)
{
    const pgy_dtype t = *(const pgy_dtype *)user;
    float *piece = part->memory;
    pgy_status st = PGY_OK;
    for (size_t at = 0; !st && at < part->size_bytes && !cancel_requested();) {
        const size_t left = (part->size_bytes - at) / sizeof(uint16_t);
        const int64_t count = (int64_t)(left < PIECE ? left : PIECE);
        st = element_reader_get(part->source, piece, 2 * (part->offset + at),
                                (size_t)count * sizeof *piece, err);
        if (!st)
            st = pgy_view_convert(pgy_view_of((char *)part->to + at, t, 1, &count),
                                  pgy_view_of(piece, PGY_F32, 1, &count), true, err);
        at += (size_t)count * sizeof(uint16_t);
    }
    return st ? st : cancel_check(err);
}

static pgy_status convert_later(pgy_model *m, const pgy_value *from, pgy_value *to, pgy_error *err)
{
    const pgy_onnx_tensor like = {.name = pgy_model_strdup(m, to->name),
                                  .doc_string = "",
                                  .dims = from->initializer->dims,
                                  .dim_count = from->initializer->dim_count,
                                  .data_type = pgy_dtype_describe(to->dtype)->onnx};
    pgy_dtype *t = pgy_model_alloc(m, 1, sizeof *t);
    pgy_onnx_tensor *made = NULL;
    if (!like.name || !t) return graph_no_memory(err);
    *t = to->dtype;
    const parts_maker maker = {.make = convert_part,
                               .user = t,
                               .source = from->initializer,
                               .unit_bytes = sizeof(uint16_t),
                               .memory_bytes = PIECE * sizeof(float),
                               .by_types = true};
    const pgy_status st = computed_parts_tensor(&made, m, &like, &maker, err);
    return st ? st : value_set_weight(to, made, err);
}

/* Numbers that must be clamped are rare; they are reported when the engine is built. */
void precision_convert_weight(precision *x, pgy_value *from, pgy_value *to)
{
    if (x->p.status) return;
    if (to->dtype == PGY_F32 || !is_stored(from) ||
        measure(x, from) > precision_largest(to->dtype) || x->p.status)
        convert_at_once(x, from, to);
    else
        x->p.status = convert_later(x->p.f.graph->model, from, to, x->p.err);
}
