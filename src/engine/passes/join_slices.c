/* SPDX-License-Identifier: Apache-2.0 */
/* Slices that cut one tensor into pieces along an axis become a Split. For CUDA devices, because
 * each step of a device takes some microseconds, however little it does. On the host only whole
 * blocks of channels: then the pieces are views of a blocked tensor, and nothing is copied. */
#include <string.h>

#include "engine/passes/pass.h"
#include "transform/pattern.h"

enum { MOST_PIECES = 8, BLOCK = 16, LEAST_RANK = 3 };

/* A Slice along one axis with step 1. */
typedef struct piece {
    pgy_node *node;
    int64_t start, width, axis;
} piece;

static bool read_number(pattern *p, pgy_value *v, int64_t *out)
{
    const int64_t *items;
    size_t count;
    if (!pattern_ints(p, v, &items, &count) || count != 1) return false;
    *out = items[0];
    return true;
}

static bool read_piece(piece *out, pattern *p, pgy_node *n)
{
    const int32_t rank = pattern_is(n, "Slice") ? pattern_rank(n->inputs[0]) : -1;
    int64_t step = 1;
    *out = (piece){.node = n};
    if (rank < 1 || n->input_count < 4 || !read_number(p, n->inputs[1], &out->start) ||
        !read_number(p, n->inputs[3], &out->axis) ||
        (pattern_input(n, 4) && !read_number(p, n->inputs[4], &step)) || step != 1 ||
        out->start < 0)
        return false;
    if (out->axis < 0) out->axis += rank;
    if (out->axis < 0 || out->axis >= rank) return false;
    out->width = pattern_size(n->outputs[0], (int32_t)out->axis);
    return out->width > 0;
}

/* Lists the pieces in their order along the axis; 0: they do not cover the tensor, or n, which is
 * the first of them, is not the first node. */
static size_t find_pieces(piece out[MOST_PIECES], pattern *p, pgy_node *n)
{
    const pgy_value *x = n->inputs[0];
    const int64_t size = pattern_size(x, (int32_t)out[0].axis);
    int64_t next = out[0].width;
    size_t count = 1;
    for (size_t i = 0; i < x->consumer_count; i++) {
        piece other;
        if (x->consumers[i] == n) break;
        if (read_piece(&other, p, x->consumers[i]) && other.axis == out[0].axis) return 0;
    }
    while (next < size && count < MOST_PIECES) {
        const size_t before = count;
        for (size_t i = 0; i < x->consumer_count && count == before; i++) {
            pgy_node *node = x->consumers[i];
            if (node != n && node->graph == n->graph && read_piece(&out[count], p, node) &&
                node->inputs[0] == x && out[count].axis == out[0].axis && out[count].start == next)
                count++;
        }
        if (count == before) return 0;
        next += out[count - 1].width;
    }
    return next == size ? count : 0;
}

typedef bool (*piece_filter)(const piece *p);

static bool join_if(pattern *p, pgy_node *n, piece_filter wanted)
{
    piece pieces[MOST_PIECES];
    pgy_value *outputs[MOST_PIECES];
    int64_t widths[MOST_PIECES];
    if (!read_piece(&pieces[0], p, n) || pieces[0].start != 0) return false;
    const size_t count = find_pieces(pieces, p, n);
    if (count < 2) return false;
    for (size_t i = 0; i < count; i++) {
        if (!wanted(&pieces[i])) return false;
        outputs[i] = pieces[i].node->outputs[0];
        widths[i] = pieces[i].width;
    }
    pgy_value *const inputs[] = {n->inputs[0],
                                 pattern_list(p, n, n->inputs[1]->name, widths, count)};
    if (!inputs[1]) return false;
    pgy_node *made = pattern_put_outputs(p, n, "Split", inputs, 2, outputs, count);
    pattern_set_int(p, made, "axis", pieces[0].axis);
    for (size_t i = 1; i < count; i++) pattern_drop(p, pieces[i].node);
    return true;
}

static bool is_any(const piece *p)
{
    (void)p;
    return true;
}

static bool is_of_blocks(const piece *p)
{
    const pgy_value *y = p->node->outputs[0];
    const pgy_dtype t = pattern_dtype(y);
    return (t == PGY_F32 || t == PGY_F16 || t == PGY_BF16) && pattern_rank(y) >= LEAST_RANK &&
           p->axis == 1 && p->width % BLOCK == 0;
}

static bool join(pattern *p, pgy_node *n)
{
    return join_if(p, n, is_any);
}

static bool join_blocks(pattern *p, pgy_node *n)
{
    return join_if(p, n, is_of_blocks);
}

static pgy_status run(pgy_graph *g, const pass_target *target, size_t *changes, pgy_error *err)
{
    static const pattern_rule CUDA[] = {join, NULL}, HOST[] = {join_blocks, NULL};
    return pattern_run(g, "join_slices", pass_is_for_cuda(target) ? CUDA : HOST, changes, err);
}

const pass PASS_join_slices = {
    .name = "join_slices", .summary = "Slices that cut a tensor into pieces", .run_for = run};
