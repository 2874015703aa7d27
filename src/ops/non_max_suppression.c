/* SPDX-License-Identifier: Apache-2.0 */
/* NonMaxSuppression: per batch and class, boxes in order of score (the lower index first among
 * equals), each dropped if it overlaps a kept one by more than the threshold. The number of kept
 * boxes is data-dependent. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "ops/class_check.h"

enum { BOXES, SCORES, MOST, IOU, SCORE };

static const op_attr_def ATTRS[] = {{"center_point_box", OP_ATTR_INT, false, "0", NULL, "0..1"},
                                    {NULL}};

/* Upper bound for the number of kept boxes over all images and classes. */
static dim most(op_infer *c)
{
    const op_value *scores = &c->inputs[SCORES];
    const dim *values;
    size_t count;
    if (scores->rank != 3) return dim_unknown(c->dims, NULL);
    dim boxes = scores->dims[2];
    if (op_has_input(c, 2) && rule_values(c, 2, &values, &count) && count == 1)
        boxes = dim_min(c->dims, boxes, values[0]);
    return dim_mul(c->dims, dim_mul(c->dims, scores->dims[0], scores->dims[1]), boxes);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    pgy_status st = rank_check(c, BOXES, 3, 3, err);
    if (!st) st = rank_check(c, SCORES, 3, 3, err);
    if (!st) st = dim_check(c, BOXES, 2, dim_const(4), "the number of a box's corners", err);
    if (!st && rank_known(c, BOXES))
        st = dim_check(c, SCORES, 0, c->inputs[BOXES].dims[0], "the batch of input 0", err);
    if (!st && rank_known(c, BOXES))
        st = dim_check(c, SCORES, 2, c->inputs[BOXES].dims[1], "the number of boxes", err);
    if (st) return st;
    dim *dims = op_dims(c, 2);
    if (!dims) return rule_no_memory(c->node, err);
    dims[0] = dim_unknown_upto(c->dims, "it depends on the values of the scores", most(c));
    dims[1] = dim_const(3);
    op_set_output(c, 0, PGY_I64, 2, dims);
    return PGY_OK;
}

typedef struct box {
    double y0, x0, y1, x1, score;
    size_t index;
} box;

/* The boxes that were kept so far, corner by corner. */
typedef struct chosen {
    double *y0, *x0, *y1, *x1, *area;
} chosen;

typedef struct selection {
    op_eval *c;
    size_t batch, boxes, classes, most;
    double iou, score;
    bool limited, centred; /* limited: there is a score threshold; centred: boxes are given by
                              centre and size */
    box *candidates;
    chosen kept;
    int64_t *found; /* results: triples of batch, class and box index */
    size_t count, capacity;
} selection;

static int compare(const void *a, const void *b)
{
    const box *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static box read_box(const selection *s, const double *v, size_t index, double score)
{
    box b = {.index = index, .score = score};
    if (s->centred) {
        b.x0 = v[0] - v[2] / 2;
        b.x1 = v[0] + v[2] / 2;
        b.y0 = v[1] - v[3] / 2;
        b.y1 = v[1] + v[3] / 2;
    } else {
        b.y0 = fmin(v[0], v[2]);
        b.y1 = fmax(v[0], v[2]);
        b.x0 = fmin(v[1], v[3]);
        b.x1 = fmax(v[1], v[3]);
    }
    return b;
}

static double area_of(const box *b)
{
    return (b->y1 - b->y0) * (b->x1 - b->x0);
}

/* A NaN corner counts as no limit of the box; the area becomes NaN, so nothing overlaps the box. */
static box opened(const box *b)
{
    box o = *b;
    if (isnan(o.y0)) o.y0 = -INFINITY;
    if (isnan(o.x0)) o.x0 = -INFINITY;
    if (isnan(o.y1)) o.y1 = INFINITY;
    if (isnan(o.x1)) o.x1 = INFINITY;
    return o;
}

#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define LARGEST(a, b) ((a) > (b) ? (a) : (b))

/* Whether the box overlaps a chosen one too much. Tests first for disjoint boxes, the usual
 * case. */
static bool is_covered(const box *b, const chosen *c, size_t count, double threshold)
{
    const box a = opened(b);
    const double own = area_of(b);
    for (size_t j = 0; j < count; j++) {
        if ((c->y1[j] <= a.y0) | (c->y0[j] >= a.y1) | (c->x1[j] <= a.x0) | (c->x0[j] >= a.x1))
            continue;
        const double height = LEAST(a.y1, c->y1[j]) - LARGEST(a.y0, c->y0[j]);
        const double width = LEAST(a.x1, c->x1[j]) - LARGEST(a.x0, c->x0[j]);
        const double common = height * width;
        if (height > 0 && width > 0 && common / (own + c->area[j] - common) > threshold)
            return true;
    }
    return false;
}

static void choose(chosen *c, size_t at, const box *b)
{
    const box o = opened(b);
    c->y0[at] = o.y0;
    c->y1[at] = o.y1;
    c->x0[at] = o.x0;
    c->x1[at] = o.x1;
    c->area[at] = area_of(b);
}

static pgy_status keep(selection *s, size_t batch, size_t class, size_t index, pgy_error *err)
{
    if (!mem_grow((void **)&s->found, &s->capacity, 3 * (s->count + 1), sizeof *s->found))
        return rule_no_memory(s->c->node, err);
    int64_t *to = s->found + 3 * s->count++;
    to[0] = (int64_t)batch;
    to[1] = (int64_t) class;
    to[2] = (int64_t)index;
    return PGY_OK;
}

static pgy_status select_class(selection *s, size_t batch, size_t class, pgy_error *err)
{
    const double *boxes = in_f64(s->c, BOXES) + batch * s->boxes * 4;
    const double *scores = in_f64(s->c, SCORES) + (batch * s->classes + class) * s->boxes;
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < s->boxes; i++)
        if (!isnan(scores[i]) && (!s->limited || scores[i] > s->score))
            s->candidates[count++] = read_box(s, boxes + 4 * i, i, scores[i]);
    qsort(s->candidates, count, sizeof *s->candidates, compare);
    for (size_t i = 0; i < count && kept < s->most && !cancel_requested(); i++) {
        if (is_covered(&s->candidates[i], &s->kept, kept, s->iou)) continue;
        choose(&s->kept, kept++, &s->candidates[i]);
        pgy_status st = keep(s, batch, class, s->candidates[i].index, err);
        if (st) return st;
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_status st = inputs_check(c, "FFiff", err);
    if (st) return st;
    const int64_t *shape = in_shape(c, SCORES);
    double most = op_eval_scalar(c, MOST, 0);
    selection s = {
        .c = c, .batch = (size_t)shape[0], .classes = (size_t)shape[1], .boxes = (size_t)shape[2]};
    s.most = most > 0 ? (size_t)fmin(most, 1e15) : 0;
    s.iou = op_eval_scalar(c, IOU, 0);
    s.limited = in_data(c, SCORE) != NULL;
    s.score = op_eval_scalar(c, SCORE, 0);
    s.centred = op_attr_int(c->node, "center_point_box", 0) != 0;
    if (!(s.iou >= 0 && s.iou <= 1))
        return op_error(c->node, err, PGY_E_ARGUMENT, "iou_threshold is %g, which is not in [0, 1]",
                        s.iou);
    st = workspace_alloc((void **)&s.candidates, c, s.boxes, sizeof *s.candidates, err);
    if (!st) st = workspace_alloc((void **)&s.kept.y0, c, s.boxes, 5 * sizeof(double), err);
    if (!st) {
        s.kept.y1 = s.kept.y0 + s.boxes;
        s.kept.x0 = s.kept.y1 + s.boxes;
        s.kept.x1 = s.kept.x0 + s.boxes;
        s.kept.area = s.kept.x1 + s.boxes;
    }
    for (size_t i = 0; !st && s.most && i < s.batch * s.classes; i++)
        st = select_class(&s, i / s.classes, i % s.classes, err);
    if (!st) st = op_output(c, 0, PGY_I64, 2, (int64_t[]){(int64_t)s.count, 3}, err);
    if (!st && s.count) memcpy(out_data(c, 0), s.found, 3 * s.count * sizeof *s.found);
    mem_free(s.candidates);
    mem_free(s.kept.y0);
    mem_free(s.found);
    return st;
}

#define ROW(version)                                                                            \
    {                                                                                           \
        "NonMaxSuppression", "", version, 0, 2, 5, 1, 1, 0, ATTRS, "float32", infer, eval, NULL \
    }
const op_def OP_non_max_suppression[] = {ROW(10), ROW(11), {NULL}};
