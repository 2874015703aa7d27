/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a range, shared by range.c (building), range_values.c (values of its graph),
 * range_record.c (what a build records of its tensors and steps), range_arena.c (places),
 * range_fetch.c (prefetching), range_prepare.c (a step for other sizes), range_ahead.c (parameters
 * for the next shapes) and range_program.c (programs for other shapes). */
#ifndef ENGINE_PROGRAM_RANGE_PARTS_H
#define ENGINE_PROGRAM_RANGE_PARTS_H

#include <pthread.h>

#include "engine/program/build.h"
#include "engine/program/range.h"
#include "engine/program/sizes.h"

enum { RANGE_NONE = UINT32_MAX };

/* A tensor of the base. */
typedef struct range_tensor {
    const uint32_t *axes;     /* places of its dims among the sizes; NULL: its shape is fixed */
    const uint32_t *elements; /* a constant that follows from sizes: places of its elements; NULL:
                                 it is none */
    size_t element_count;
    uint64_t elements_at; /* offset of these elements in a program's own memory */
    uint32_t root;        /* the tensor whose memory it uses */
    uint32_t slot;        /* of a root in the arena: its block; else RANGE_NONE */
} range_tensor;

/* A tensor whose size or elements depend on sizes, or those of its root: what making a program
 * needs of it, side by side, because all of it comes from memory. */
typedef struct range_varying {
    const uint32_t *axes, *elements; /* as in range_tensor */
    size_t element_count;
    uint64_t elements_at, data_at; /* of its elements, and of its root's; RANGE_NO_DATA: none */
    uint32_t tensor, root, slot;   /* slot of the root; RANGE_NONE: nothing writes it */
} range_varying;

#define RANGE_NO_DATA UINT64_MAX

/* An operand of a step as its kernel sees it. */
typedef struct range_operand {
    uint32_t tensor; /* PROGRAM_NO_TENSOR: omitted */
    kernel_layout layout;
    const op_value *known;    /* what shape inference knows of an input; NULL: it is omitted */
    pgy_tensor *constant;     /* elements of a constant; NULL: not a constant, or a large one */
    bool is_large_constant;   /* kernels read it in `prepare` alone */
    pgy_dtype narrow, rounds; /* as in kernel_tensor */
} range_operand;

/* A step whose parameters depend on sizes. */
typedef struct range_step {
    uint32_t step;       /* its index in the program */
    const op_node *node; /* NULL: a copy or reorder */
    const kernel *kernel;
    range_operand *operands; /* inputs, then outputs */
    uint32_t input_count, output_count;
    bool in_place;   /* its output lies in the memory of an input */
    uint32_t twin;   /* an earlier range_step with the same problem; RANGE_NONE: none */
    double estimate; /* its kernel's estimate for the base */
} range_step;

/* A block of the arena: the memory of a tensor, or a step's workspace. */
typedef struct range_slot {
    uint32_t first, last; /* steps */
    uint32_t owner;       /* a tensor, or tensor_count + a step */
    uint64_t size_bytes, offset;
    uint64_t needed; /* by the program that is being made */
    uint64_t fixed;  /* by tensors whose size does not vary */
} range_slot;

/* Parameters of a step for a shape that has not come yet. */
typedef struct range_ahead_plan {
    kernel_plan plan; /* without packed bytes */
    double cost_ns;
} range_ahead_plan;

typedef struct range_ahead_shape {
    int64_t sizes[SIZES_SYMBOLS]; /* independent sizes */
    range_ahead_plan *plans;      /* of the steps without a twin, in order */
    size_t plan_count;
} range_ahead_shape;

enum { RANGE_AHEAD_MOST = 8 };

typedef struct range_ahead {
    arena memory; /* of plans and parameters */
    range_ahead_shape shapes[RANGE_AHEAD_MOST];
    size_t count;
    size_t wanted;                 /* shapes of the latest guess; 0: none was made */
    int64_t latest[SIZES_SYMBOLS]; /* independent sizes of the latest program */
    int64_t growth[SIZES_SYMBOLS]; /* since the one before it */
    bool steady;                   /* the growth before it was the same */
} range_ahead;

struct range {
    atomic_size_t users;
    arena memory;
    pgy_graph *graph;
    program *base;
    sizes sizes;
    range_tensor *tensors;
    size_t tensor_count;
    range_step *steps;
    size_t step_count, step_capacity;
    uint32_t *resized; /* `step` of all steps */
    range_slot *slots;
    size_t slot_count;
    uint32_t *moving; /* slots of tensors and workspaces whose size depends on sizes */
    size_t moving_count;
    range_varying *varying;
    size_t varying_count;
    uint64_t number;        /* no other range has it */
    program_tensor *placed; /* the base's tensors at the latest places */
    uint64_t placings;      /* how often they were placed */
    program *spare; /* one that nobody uses: the next one needs no copy of the base; or NULL */
    size_t program_bytes;  /* memory of the latest copy of the base */
    arena rule_memory;     /* of shape rules, for one program */
    uint64_t *changes;     /* of the bytes alive from step to step, for range_arena.c */
    size_t elements_bytes; /* of all constants that follow from sizes */
    size_t fixed_scratch, fixed_workspace; /* largest of the other steps */
    pthread_mutex_t lock;                  /* guards the places of slots and the fields below */
    uint64_t arena_bytes, arena_bound;
    int64_t *values; /* all sizes for the program that is being made */
    kernel_problem problem;
    range_ahead ahead;
};

/* A program in the making. The range is locked. */
typedef struct range_making {
    range *r;
    program *p;
    const range_ahead_shape *ahead; /* what was prepared for these sizes; or NULL */
    size_t ahead_used;              /* its plans that have been taken */
    dim_table dims;
    pgy_error *err;
} range_making;

/* ---- range_values.c ---- */
/* The dims of a value, all with numbers in the base. */
pgy_status range_dims(const dim **out, const range *r, const pgy_value *v,
                      pgy_error *err) PGY_MUST_CHECK;
/* Does shape inference know the elements as numbers or as sizes? */
bool range_knows_elements(const range *r, const pgy_value *v);
/* The elements in the base, in the declared type. */
pgy_status range_elements(pgy_tensor **out, const range *r, const pgy_value *v,
                          pgy_error *err) PGY_MUST_CHECK;
/* Writes the elements of a constant that follows from sizes. False: one does not fit its type. */
bool range_put_elements(void *out, pgy_dtype dtype, const range_varying *t, const int64_t *values);
/* ---- range_record.c: called by a build whose options have a range ---- */
/* Notes the kernel's problem of the step that is added next. `n` NULL: a copy or reorder. `tensors`
 * holds inputs, captured values and outputs. */
pgy_status range_note_step(builder *b, const build_node *n, const kernel_problem *problem,
                           const kernel *k, const uint32_t *tensors, pgy_error *err) PGY_MUST_CHECK;
/* Notes the tensors, and the blocks of the arena of the host. */
pgy_status range_note_tensors(builder *b, pgy_error *err) PGY_MUST_CHECK;
pgy_status range_note_slots(builder *b, const program_interval *items, const uint32_t *owners,
                            size_t count, pgy_error *err) PGY_MUST_CHECK;

/* ---- range_fetch.c ---- */
/* Prefetches what making a program in `p`, which is a copy of the base or a spare one, reads.
 * `ahead`: what was prepared for its shapes; or NULL. */
void range_fetch(const range *r, const program *p, const range_ahead_shape *ahead);

/* ---- range_prepare.c ---- */
/* PGY_E_UNSUPPORTED: the range has no program for these shapes because of this step. */
pgy_status range_refuse(const range_making *m, const range_step *s, const char *why) PGY_MUST_CHECK;
/* Does the plan fit the packed bytes of the base, and the memory that its output shares? */
bool range_fits(const range_making *m, const range_step *s, const kernel_plan *made);
/* Asks the shape rule and the kernel. `made` is the caller's to release, also after an error. */
pgy_status range_prepare(kernel_plan *made, double *cost_ns, range_making *m,
                         const range_step *s) PGY_MUST_CHECK;

/* ---- range_ahead.c ---- */
/* What was prepared for the sizes of the latest sizes_evaluate; NULL: nothing. */
const range_ahead_shape *range_ahead_find(const range *r);
/* Notes the sizes of the latest sizes_evaluate. */
void range_ahead_note(range *r);
/* How many of the next shapes should be prepared; 0: sizes do not grow steadily. */
size_t range_ahead_wanted(range *r);
void range_ahead_clear(range *r);
/* Starts the shape that comes `distance` shapes after the latest and evaluates its sizes. It counts
 * when the caller raises `ahead.count`. False: there is none. */
bool range_ahead_start(range *r, size_t distance);
/* Adds a copy of the plan of the next step without a twin. False: no memory. */
bool range_ahead_add(range *r, const kernel_plan *made, double cost_ns);

/* ---- range_arena.c ---- */
/* Bytes of the slot of a block. */
static inline uint64_t range_slot_bytes(uint64_t size_bytes)
{
    return (size_bytes ? size_bytes + 63 : 64) / 64 * 64;
}
/* Makes room in the arena for what slots need, if the latest places are too small. */
pgy_status range_place(range *r, pgy_error *err) PGY_MUST_CHECK;
/* Gives the tensors in `placed` the places of their slots. */
void range_place_tensors(range *r);

#endif
