/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves out Concats and Splits that only copy. If the output of a Concat is its inputs, one after
 * the other, the steps that compute the inputs write them to their places in the output. The pieces
 * of such a Split are views of its input. The last Concat comes first, because in a dense block it
 * has the inputs of all others. A Concat stays where the program would need more than a sixteenth
 * more memory at once: without the step, its output must be kept from its first input on. A program
 * with a device leaves out the device's: each copy is a launch. */
#include "base/alloc.h"
#include "base/log.h"
#include "engine/build/debug.h"
#include "engine/program/build.h"

static const char LOG_PATH[] = "engine/program/joins.c";

/* PART_ALIGNMENT: kernels expect tensors at multiples of so many bytes. GROWTH: see above. */
enum { PART_ALIGNMENT = 64, MOST_STEPS = 1 << 14, GROWTH = 16 };

typedef struct joiner {
    builder *b;
    build_life *lives;
    int64_t *changes;                  /* of the bytes needed at once, indexed by step */
    uint64_t most_bytes;               /* that may be needed at once */
    uint32_t roots[KERNEL_MAX_INPUTS]; /* roots that the current Concat has attached */
    size_t root_count;
    bool *dropped; /* indexed by step */
} joiner;

/* The most bytes of the arena that are needed at once. */
static uint64_t find_needed(const joiner *j)
{
    const builder *b = j->b;
    const size_t steps = b->p->step_count;
    int64_t now = 0, most = 0;
    for (size_t i = 0; i < b->tensor_count; i++) j->lives[i] = (build_life){0};
    for (size_t i = 0; i <= steps; i++) j->changes[i] = 0;
    build_find_lives(b, j->lives);
    for (uint32_t i = 0; i < b->tensor_count; i++) {
        const program_tensor *t = &b->tensors[i].t;
        if (b->tensors[i].root != i || t->place != PROGRAM_ARENA || !j->lives[i].written) continue;
        j->changes[j->lives[i].first] += (int64_t)t->size_bytes;
        j->changes[j->lives[i].last + 1] -= (int64_t)t->size_bytes;
    }
    for (size_t i = 0; i < steps; i++) {
        now += j->changes[i];
        if (now > most) most = now;
    }
    return (uint64_t)most;
}

/* Where a part of a tensor may begin. */
static uint64_t alignment_of(const builder *b, uint32_t tensor)
{
    return b->tensors[tensor].t.space ? (uint64_t)PROGRAM_DEVICE_ALIGNMENT : PART_ALIGNMENT;
}

/* Does the root have memory in the arena that may become a part of another tensor's? */
static bool can_move(const builder *b, uint32_t root)
{
    const build_tensor *t = &b->tensors[root];
    return t->root == root && t->t.place == PROGRAM_ARENA && !t->constant &&
           t->t.size_bytes % alignment_of(b, root) == 0;
}

static void attach(builder *b, uint32_t tensor, uint32_t root, uint64_t within)
{
    b->tensors[tensor].root = root;
    b->tensors[tensor].within = within;
}

static void detach(joiner *j)
{
    while (j->root_count) {
        const uint32_t root = j->roots[--j->root_count];
        attach(j->b, root, root, 0);
    }
}

/* Bytes of the inputs that lie in `root` where the output has them, if `root` begins at `start` of
 * the output. */
static uint64_t covered(const builder *b, const program_step *s, uint32_t root, uint64_t start)
{
    uint64_t at = 0, bytes = 0;
    for (uint32_t i = 0; i < s->input_count; i++) {
        const uint32_t x = s->tensors[i];
        if (build_root(b, x) == root && start + build_within(b, x) == at)
            bytes += b->tensors[x].t.size_bytes;
        at += b->tensors[x].t.size_bytes;
    }
    return bytes;
}

/* Are all inputs already parts of one other tensor, in order? Then the output is a part of it. */
static bool join_parts(joiner *j, const program_step *s, uint32_t y)
{
    builder *b = j->b;
    const uint32_t root = build_root(b, s->tensors[0]);
    const uint64_t begin = build_within(b, s->tensors[0]);
    uint64_t at = begin;
    if (root == s->tensors[0] || root == y || !can_move(b, y)) return false;
    for (uint32_t i = 0; i < s->input_count; i++) {
        if (build_root(b, s->tensors[i]) != root || build_within(b, s->tensors[i]) != at)
            return false;
        at += b->tensors[s->tensors[i]].t.size_bytes;
    }
    if (at - begin != b->tensors[y].t.size_bytes || b->tensors[root].t.place != PROGRAM_ARENA)
        return false;
    attach(b, y, root, begin);
    j->roots[j->root_count++] = y;
    return true;
}

/* Makes the memory of each input a part of the output's. Partly done on failure. */
static bool join_inputs(joiner *j, const program_step *s, uint32_t y)
{
    builder *b = j->b;
    uint64_t at = 0;
    for (uint32_t i = 0; i < s->input_count; at += b->tensors[s->tensors[i++]].t.size_bytes) {
        const uint32_t x = s->tensors[i], root = build_root(b, x);
        const uint64_t within = build_within(b, x), size = b->tensors[root].t.size_bytes;
        if (root == build_root(b, y)) {
            if (within != build_within(b, y) + at) return false;
            continue;
        }
        if (!can_move(b, root) || within > at || at % alignment_of(b, y) ||
            covered(b, s, root, at - within) != size)
            return false;
        attach(b, root, y, at - within);
        j->roots[j->root_count++] = root;
    }
    return at == b->tensors[y].t.size_bytes;
}

/* Has the tensor memory in the arena that only kernels and definitions write? */
static bool is_plain(const builder *b, uint32_t tensor)
{
    if (tensor == PROGRAM_NO_TENSOR) return false;
    const program_tensor *t = &b->tensors[build_root(b, tensor)].t;
    const bool on_device = b->p->space_count > 1;
    return t->place == PROGRAM_ARENA && (t->space != 0) == on_device && t->size_bytes;
}

static bool are_plain(const builder *b, const uint32_t *tensors, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_plain(b, tensors[i])) return false;
    return true;
}

static bool join(joiner *j, const program_step *s)
{
    const uint32_t y = s->tensors[s->input_count];
    j->root_count = 0;
    if (!are_plain(j->b, s->tensors, s->input_count + s->output_count) ||
        j->b->tensors[y].t.place != PROGRAM_ARENA)
        return false;
    if (!join_parts(j, s, y) && !join_inputs(j, s, y)) {
        detach(j);
        return false;
    }
    if (find_needed(j) <= j->most_bytes) return true;
    detach(j);
    return false;
}

/* Makes the outputs views of the input. Their sizes, input 1, have been read already. */
static bool split(joiner *j, const program_step *s)
{
    builder *b = j->b;
    const uint32_t *outputs = s->tensors + s->input_count;
    uint64_t at = 0;
    if (!is_plain(b, s->tensors[0]) || !are_plain(b, outputs, s->output_count)) return false;
    for (uint32_t i = 0; i < s->output_count; i++) {
        if (b->tensors[outputs[i]].root != outputs[i] || at % alignment_of(b, outputs[i]))
            return false;
        at += b->tensors[outputs[i]].t.size_bytes;
    }
    if (at != b->tensors[s->tensors[0]].t.size_bytes) return false;
    at = 0;
    for (uint32_t i = 0; i < s->output_count; at += b->tensors[outputs[i++]].t.size_bytes)
        attach(b, outputs[i], s->tensors[0], at);
    if (find_needed(j) <= j->most_bytes) return true;
    for (uint32_t i = 0; i < s->output_count; i++) attach(b, outputs[i], outputs[i], 0);
    return false;
}

static void drop_steps(joiner *j)
{
    program *p = j->b->p;
    size_t kept = 0;
    for (size_t i = 0; i < p->step_count; i++) {
        if (j->dropped[i]) {
            kernel_plan_deinit(&p->steps[i].plan);
            p->left_out[p->left_out_count++] = p->steps[i];
        } else {
            p->steps[kept++] = p->steps[i];
        }
    }
    p->step_count = kept;
    if (p->left_out_count)
        LOG(VERBOSE, "%zu Concats and Splits have nothing to copy: their pieces are made in place",
            p->left_out_count);
}

static bool copies(const program_step *s, kernel_copies what)
{
    return s->act == PROGRAM_RUN && s->kernel && s->plan.copies == what && s->input_count &&
           s->output_count;
}

static void join_all(joiner *j)
{
    const program *p = j->b->p;
    j->most_bytes = find_needed(j);
    j->most_bytes += j->most_bytes / GROWTH;
    for (size_t i = 0; i < p->step_count; i++)
        if (copies(&p->steps[i], KERNEL_COPIES_SPLIT)) j->dropped[i] = split(j, &p->steps[i]);
    for (size_t i = p->step_count; i-- > 0;)
        if (copies(&p->steps[i], KERNEL_COPIES_JOINED)) j->dropped[i] = join(j, &p->steps[i]);
    drop_steps(j);
}

static bool is_useful(const builder *b)
{
    const program *p = b->p;
    bool found = false;
    for (size_t i = 0; i < p->step_count; i++) found |= p->steps[i].plan.copies != 0;
    return found && p->space_count <= 2 && p->step_count <= MOST_STEPS && !b->options->range &&
           !debug_is_on(b->options->config);
}

pgy_status build_joins(builder *b, pgy_error *err)
{
    const size_t steps = b->p->step_count;
    joiner j = {.b = b};
    if (!is_useful(b)) return PGY_OK;
    j.lives = mem_calloc(b->tensor_count + 1, sizeof *j.lives);
    j.changes = mem_calloc(steps + 2, sizeof *j.changes);
    j.dropped = mem_calloc(steps + 1, sizeof *j.dropped);
    b->p->left_out = arena_alloc_array(&b->p->memory, steps, sizeof *b->p->left_out);
    const bool has_memory = j.lives && j.changes && j.dropped && b->p->left_out;
    if (has_memory) join_all(&j);
    mem_free(j.lives);
    mem_free(j.changes);
    mem_free(j.dropped);
    return has_memory ? PGY_OK
                      : pgy_error_set(err, PGY_E_MEMORY, "out of memory while planning the arena");
}
