/* SPDX-License-Identifier: Apache-2.0 */
/* Finds weights of float32 whose numbers all are 16-bit floats, as of models that were exported in
 * float32 from checkpoints in bfloat16 or float16. Kernels keep them in half the bytes. */
#include "base/cancel.h"
#include "engine/program/build.h"
#include "kernels/half.h"
#include "kernels/packing.h"
#include "onnx/reader.h"

enum { PIECE_BYTES = 64 << 10 };

/* Weights that need float32 nearly always show it in their first piece. */
static bool holds_all(pgy_dtype half, pgy_model *m, const pgy_onnx_tensor *weight)
{
    char piece[PIECE_BYTES];
    element_reader r = {0};
    bool holds = !element_reader_open(&r, m, weight, NULL);
    for (size_t at = 0; holds && at < r.size_bytes; at += PIECE_BYTES) {
        const size_t left = r.size_bytes - at, size = left < PIECE_BYTES ? left : PIECE_BYTES;
        holds = !cancel_requested() && !element_reader_get(&r, piece, at, size, NULL) &&
                half_holds(half, piece, size);
    }
    element_reader_close(&r);
    return holds;
}

static bool is_asked_for(const pgy_node *n)
{
    const kernel *k;
    const char *domain = domain_is_default(n->domain) ? "" : n->domain;
    for (size_t i = 0; (k = kernel_for(domain, n->op_type, i)); i++)
        if (k->flags & KERNEL_NARROWS_WEIGHTS) return true;
    return false;
}

pgy_dtype build_narrow_weight(builder *b, const pgy_node *n, size_t input, const kernel_tensor *t)
{
    static const pgy_dtype TYPES[] = {PGY_BF16, PGY_F16}; /* bfloat16 is widened faster */
    const pgy_onnx_tensor *weight = n->inputs[input] ? n->inputs[input]->initializer : NULL;
    pgy_dtype found = PGY_DTYPE_NONE;
    if (input != 1 || !weight || t->dtype != PGY_F32 || kernel_count(t) <= KERNEL_READABLE ||
        !is_asked_for(n) || (b->packed && packed_table_narrow(&found, b->packed, weight)))
        return found;
    for (size_t i = 0; !found && i < sizeof TYPES / sizeof *TYPES; i++)
        if (holds_all(TYPES[i], b->graph->model, weight)) found = TYPES[i];
    if (b->packed && !cancel_requested()) packed_table_note_narrow(b->packed, weight, found);
    return found;
}
