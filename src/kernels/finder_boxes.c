/* SPDX-License-Identifier: Apache-2.0 */
/* NonMaxSuppression. A candidate is compared with 32 kept boxes at a time in float32, which tells
 * which of them it may touch: rounding is monotonic, so boxes that are apart in float32 are apart.
 * For these alone the overlap is computed in float64, as the definition does, so results are equal.
 * If few boxes are wanted, candidates come from a heap, else they are sorted. */
#include "kernels/finder.h"

#include <math.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/finder_boxes.h"
#include "kernels/finder_sort.h"

enum { BOXES, SCORES, MOST, IOU, SCORE };
enum { HEAP_FACTOR = 4 }; /* a heap pays off if there are that many candidates for each result */

static bool boxes_has(const finder_call *c, size_t i)
{
    return i < c->node->input_count && c->inputs[i].dtype;
}

static float boxes_float(const finder_call *c, size_t i)
{
    return boxes_has(c, i) ? *(const float *)c->inputs[i].data : 0;
}

static bool boxes_accept(const finder_call *c)
{
    if (c->inputs[BOXES].dtype != PGY_F32 || c->inputs[SCORES].dtype != PGY_F32) return false;
    if (c->inputs[SCORES].rank != 3 || c->inputs[SCORES].shape[2] >= UINT32_MAX) return false;
    if (boxes_has(c, MOST) &&
        (c->inputs[MOST].dtype != PGY_I64 || kernel_count(&c->inputs[MOST]) != 1))
        return false;
    for (size_t i = IOU; i <= SCORE; i++)
        if (boxes_has(c, i) && (c->inputs[i].dtype != PGY_F32 || kernel_count(&c->inputs[i]) != 1))
            return false;
    const float iou = boxes_float(c, IOU);
    return iou >= 0 && iou <= 1; /* the definition refuses others */
}

/* ---- One box -------------------------------------------------------------------------------- */

typedef struct box {
    double y0, x0, y1, x1, area;
} box;

/* A NaN corner counts as no limit of the box; the area becomes NaN, so nothing overlaps the box. */
static box boxes_read(const float *v, bool centred)
{
    box b;
    if (centred) {
        b.x0 = v[0] - (double)v[2] / 2;
        b.x1 = v[0] + (double)v[2] / 2;
        b.y0 = v[1] - (double)v[3] / 2;
        b.y1 = v[1] + (double)v[3] / 2;
    } else {
        b.y0 = fmin(v[0], v[2]);
        b.y1 = fmax(v[0], v[2]);
        b.x0 = fmin(v[1], v[3]);
        b.x1 = fmax(v[1], v[3]);
    }
    b.area = (b.y1 - b.y0) * (b.x1 - b.x0);
    if (isnan(b.y0)) b.y0 = -INFINITY;
    if (isnan(b.x0)) b.x0 = -INFINITY;
    if (isnan(b.y1)) b.y1 = INFINITY;
    if (isnan(b.x1)) b.x1 = INFINITY;
    return b;
}

#define LEAST(a, b) ((a) < (b) ? (a) : (b))
#define LARGEST(a, b) ((a) > (b) ? (a) : (b))

static bool boxes_overlap(const box *a, const box *b, double threshold)
{
    const double height = LEAST(a->y1, b->y1) - LARGEST(a->y0, b->y0);
    const double width = LEAST(a->x1, b->x1) - LARGEST(a->x0, b->x0);
    const double common = height * width;
    return height > 0 && width > 0 && common / (a->area + b->area - common) > threshold;
}

/* ---- Boxes that were kept ------------------------------------------------------------------- */

typedef struct selection {
    const finder_call *c;
    size_t boxes, classes, most;
    double iou;
    float score;
    bool limited, centred;
    boxes_touch *touch;
    finder_key *candidates; /* twice as many as boxes */
    boxes_block *blocks;    /* corners of kept boxes in float32 */
    box *kept;
    int64_t *found; /* triples of batch, class and box */
    size_t count, capacity;
} selection;

static bool boxes_covered(const selection *s, const box *b, size_t kept)
{
    const float corners[] = {(float)b->y0, (float)b->x0, (float)b->y1, (float)b->x1};
    for (size_t i = 0; i < kept; i += BOXES_BLOCK) {
        uint32_t mask = s->touch(&s->blocks[i / BOXES_BLOCK], corners);
        for (; mask; mask &= mask - 1)
            if (boxes_overlap(&s->kept[i + (size_t)__builtin_ctz(mask)], b, s->iou)) return true;
    }
    return false;
}

static void boxes_keep(selection *s, const box *b, size_t kept)
{
    boxes_block *to = &s->blocks[kept / BOXES_BLOCK];
    const size_t lane = kept % BOXES_BLOCK;
    for (size_t i = 0; !lane && i < BOXES_BLOCK; i++) to->y0[i] = NAN; /* touches nothing */
    to->y0[lane] = (float)b->y0;
    to->x0[lane] = (float)b->x0;
    to->y1[lane] = (float)b->y1;
    to->x1[lane] = (float)b->x1;
    s->kept[kept] = *b;
}

/* ---- Order ---------------------------------------------------------------------------------- */

/* Candidates with keys that rise as scores fall. */
static size_t boxes_candidates(const selection *s, const float *scores)
{
    const float limit = s->limited ? s->score : -INFINITY;
    const bool all = !s->limited;
    size_t count = 0;
    for (size_t i = 0; i < s->boxes; i++) {
        s->candidates[count] = (finder_key){~finder_order_f32(scores[i]), (uint32_t)i};
        count += (scores[i] > limit) | (all & (scores[i] == limit));
    }
    return count;
}

/* Moves the rank at `at` down to its place in the heap. Children are compared without a branch. */
static void boxes_sink(uint64_t *heap, size_t count, size_t at)
{
    const uint64_t rank = heap[at];
    size_t child = 2 * at + 1;
    for (; child + 1 < count; at = child, child = 2 * at + 1) {
        child += heap[child + 1] < heap[child];
        if (heap[child] > rank) break;
        heap[at] = heap[child];
    }
    if (child + 1 == count && heap[child] < rank) {
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = rank;
}

/* Takes the first rank out. The last one fills its place: it sinks to the bottom, where it mostly
 * belongs, and rises from there. */
static uint64_t boxes_pop(uint64_t *heap, size_t count)
{
    const uint64_t first = heap[0], rank = heap[--count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count) child += heap[child + 1] < heap[child];
        heap[at] = heap[child];
    }
    for (size_t above; at > 0 && heap[above = (at - 1) / 2] > rank; at = above)
        heap[at] = heap[above];
    heap[at] = rank;
    return first;
}

/* Candidates in order: sorted ones, or a heap of ranks, keys above indices. */
typedef struct queue {
    finder_key *keys;
    uint64_t *heap;
    size_t count, next;
} queue;

static queue boxes_queue(const selection *s, size_t count)
{
    queue q = {.keys = s->candidates, .count = count};
    if (s->most >= count / HEAP_FACTOR) {
        q.keys = finder_sort(q.keys, q.keys + s->boxes, count);
        return q;
    }
    q.heap = (uint64_t *)(s->candidates + s->boxes);
    for (size_t i = 0; i < count; i++) q.heap[i] = q.keys[i].key << 32 | q.keys[i].index;
    for (size_t i = count / 2; i-- > 0;) boxes_sink(q.heap, count, i);
    return q;
}

static bool boxes_next(uint32_t *index, queue *q)
{
    if (q->next == q->count) return false;
    *index = q->heap ? (uint32_t)boxes_pop(q->heap, q->count - q->next) : q->keys[q->next].index;
    q->next++;
    return true;
}

/* ---- Selecting ------------------------------------------------------------------------------ */

static pgy_status boxes_report(selection *s, size_t batch, size_t class, size_t index,
                               pgy_error *err)
{
    if (!mem_grow((void **)&s->found, &s->capacity, 3 * (s->count + 1), sizeof *s->found))
        return op_error(s->c->node, err, PGY_E_MEMORY, "out of memory");
    int64_t *to = s->found + 3 * s->count++;
    to[0] = (int64_t)batch;
    to[1] = (int64_t) class;
    to[2] = (int64_t)index;
    return PGY_OK;
}

static pgy_status boxes_select(selection *s, size_t batch, size_t class, pgy_error *err)
{
    const float *boxes = (const float *)s->c->inputs[BOXES].data + batch * s->boxes * 4;
    const float *scores =
        (const float *)s->c->inputs[SCORES].data + (batch * s->classes + class) * s->boxes;
    queue q = boxes_queue(s, boxes_candidates(s, scores));
    uint32_t index;
    pgy_status st = PGY_OK;
    for (size_t kept = 0; !st && kept < s->most && !cancel_requested() && boxes_next(&index, &q);) {
        const box b = boxes_read(boxes + 4 * (size_t)index, s->centred);
        if (boxes_covered(s, &b, kept)) continue;
        boxes_keep(s, &b, kept++);
        st = boxes_report(s, batch, class, index, err);
    }
    return st;
}

static pgy_status boxes_room(selection *s, pgy_error *err)
{
    const size_t most = (s->most < s->boxes ? s->most : s->boxes) + BOXES_BLOCK;
    const size_t each = 2 * sizeof(finder_key) + sizeof(box) + sizeof(boxes_block) / BOXES_BLOCK;
    void *memory;
    pgy_status st = finder_memory(&memory, s->c, s->boxes + 2 * BOXES_BLOCK, each, err);
    if (st) return st;
    s->blocks = memory;
    s->kept = (box *)(s->blocks + most / BOXES_BLOCK);
    s->candidates = (finder_key *)(s->kept + most);
    return PGY_OK;
}

static pgy_status boxes_run(const finder_call *c, pgy_error *err)
{
    const int64_t *shape = c->inputs[SCORES].shape;
    const int64_t most = boxes_has(c, MOST) ? *(const int64_t *)c->inputs[MOST].data : 0;
    const size_t lists = (size_t)shape[0] * (size_t)shape[1];
    selection s = {.c = c, .boxes = (size_t)shape[2], .classes = (size_t)shape[1]};
    void *data;
    s.most = most > 0 ? (size_t)most : 0;
    s.iou = boxes_float(c, IOU);
    s.limited = boxes_has(c, SCORE);
    s.score = boxes_float(c, SCORE);
    s.centred = op_attr_int(c->node, "center_point_box", 0) != 0;
    s.touch = boxes_touch_of(cpu_features());
    pgy_status st = boxes_room(&s, err);
    for (size_t i = 0; !st && s.most && i < lists && !cancel_requested(); i++)
        st = boxes_select(&s, i / s.classes, i % s.classes, err);
    if (!st) st = c->create(&data, c->user, 0, PGY_I64, 2, (int64_t[]){(int64_t)s.count, 3}, err);
    if (!st && s.count) memcpy(data, s.found, 3 * s.count * sizeof *s.found);
    mem_free(s.found);
    return st ? st : cancel_check(err);
}

const finder FINDER_boxes = {"NonMaxSuppression", boxes_accept, boxes_run};
