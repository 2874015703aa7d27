/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files that build a program. */
#ifndef ENGINE_PROGRAM_BUILD_H
#define ENGINE_PROGRAM_BUILD_H

#include "engine/program/program.h"
#include "engine/tactics/replay.h"
#include "graph/side_table.h"

/* During a build, views and the tensors that they view form trees; only a tree's root has
 * memory. */
typedef struct build_tensor {
    program_tensor t;
    uint32_t root;
    uint64_t within;      /* where its bytes begin in those of `root` */
    pgy_tensor *constant; /* elements in the declared type, linear; NULL: not a constant, or not
                             needed any more */
    const void *source;   /* of a constant: kernel_tensor.source */
    bool elsewhere;       /* of a constant: kernel_tensor.elsewhere */
    bool stays;           /* its elements lie in the memory of the model */
    const dim *dims;      /* in a build for a range: its dims; NULL: its shape is fixed */
    const dim *elements;  /* of a constant that follows from sizes; else NULL */
    size_t element_count;
    size_t uses; /* of a constant: places in nodes and outputs that still need it */
    bool stored; /* the constant is already in the program's constants */
    /* indexed by space and layout: the tensor with the same elements there; 0: not made yet */
    uint32_t moved[PROGRAM_MAX_SPACES][KERNEL_MAX_FORMATS];
} build_tensor;

typedef struct builder {
    program *p;
    pgy_graph *graph;
    const build_options *options;
    build_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    id_places bound; /* maps a value to its tensor's index + 1; 0: none yet */
    size_t step_capacity;
    packed_table *packed;
    uint64_t released_bytes; /* of constants, since memory was last given back */
} builder;

/* A node on its way to a step. */
typedef struct build_node {
    pgy_node *node;
    op_node op;
    uint32_t *tensors; /* indices of its tensors: inputs, then captured values, then outputs */
    uint32_t *reads;   /* a copy of its inputs and captured values, as steps change `tensors` */
    size_t input_count, captured_count, output_count;
    bool is_view;
    bool free; /* kernels may run it; else the reference definition must */
    /* selection sets these: */
    const kernel *kernel;   /* NULL: the reference definition */
    kernel_problem problem; /* all layouts are linear at first, then as the kernel wants; empty if
                               the node has too many tensors for kernels */
    double cost_ns;         /* the kernel's estimate */
} build_node;

/* ---- tensors.c ---- */
/* The tensor of a value; makes that of a constant on first use. PROGRAM_NO_TENSOR for NULL.
 * PGY_E_INTERNAL: no step has computed the value. */
pgy_status build_tensor_of(uint32_t *out, builder *b, pgy_value *v, pgy_error *err) PGY_MUST_CHECK;
/* A new tensor with the type and shape of v. */
pgy_status build_tensor_add(uint32_t *out, builder *b, const pgy_value *v, program_place place,
                            pgy_error *err) PGY_MUST_CHECK;
/* Makes a tensor for the same elements in another layout or space, without memory yet. The copy of
 * a constant is a constant, too. */
pgy_status build_tensor_copy(uint32_t *out, builder *b, uint32_t of, kernel_layout layout,
                             uint32_t space, pgy_error *err) PGY_MUST_CHECK;
pgy_status build_bind(builder *b, const pgy_value *v, uint32_t tensor,
                      pgy_error *err) PGY_MUST_CHECK;
/* The tensor that v is bound to; PROGRAM_NO_TENSOR: none. */
uint32_t build_bound(const builder *b, const pgy_value *v);
/* Does shape inference know the elements, so that no step must compute them? */
bool build_is_constant(const builder *b, pgy_value *v);
/* A problem without tensors, with the builder's table of packed weights. */
kernel_problem build_problem(builder *b);
/* kernel_tensor.narrow of a node's input, which t describes. The weight is read once for all
 * programs. */
pgy_dtype build_narrow_weight(builder *b, const pgy_node *n, size_t input, const kernel_tensor *t);
/* Describes a tensor for kernels. */
kernel_tensor build_describe(const builder *b, uint32_t tensor);
/* The elements of a constant are released after the last counted use, because a program holds all
 * weights in its own form: with the elements of all, it would hold them twice. */
void build_count_use(builder *b, uint32_t tensor);
void build_drop_use(builder *b, uint32_t tensor);
/* Gives freed memory, and pages of the model's file, back to the system. */
void build_give_back(builder *b);
/* Gives the program the elements of a constant, unless it has them already. */
pgy_status build_store_constant(builder *b, uint32_t tensor, pgy_error *err) PGY_MUST_CHECK;
/* The tensor whose memory this tensor uses: itself, or the root of its views. */
uint32_t build_root(const builder *b, uint32_t tensor);
/* Where its bytes begin in those of build_root. */
uint64_t build_within(const builder *b, uint32_t tensor);

/* ---- steps.c ---- */
/* Appends the steps of all nodes, in this order: reorders of a node's inputs, then the node, by the
 * kernel that selection chose (select.h) or by reference. */
pgy_status build_nodes(builder *b, pgy_node *const *order, size_t count,
                       pgy_error *err) PGY_MUST_CHECK;
/* Appends a reorder or copy between two tensors. */
pgy_status build_move(builder *b, uint32_t from, uint32_t to, pgy_error *err) PGY_MUST_CHECK;
/* Appends the steps that bring a tensor into the caller's memory for this output. */
pgy_status build_deliver(builder *b, uint32_t from, uint32_t output, pgy_error *err) PGY_MUST_CHECK;

/* ---- wide.c ---- */
/* Holds tensors in 16-bit floats as float32 where that saves conversions. Selection has chosen the
 * kernels of all nodes; no step was made yet. */
pgy_status build_hold_wide(builder *b, build_node *nodes, size_t count, arena *memory,
                           pgy_error *err) PGY_MUST_CHECK;

/* ---- order.c ---- */
/* Adds the event steps (PROGRAM_RECORD, PROGRAM_WAIT) that a program with devices needs. */
pgy_status build_order(builder *b, pgy_error *err) PGY_MUST_CHECK;
/* The last step during which copy `step` may still read its source on the host. */
uint32_t build_last_use(const builder *b, uint32_t step);

/* ---- joins.c ---- */
/* Places what steps only copy where they would copy it to, and drops these steps. */
pgy_status build_joins(builder *b, pgy_error *err) PGY_MUST_CHECK;

/* ---- arena.c ---- */
/* The steps during which the memory of a root must be kept, in any of its tensors. */
typedef struct build_life {
    uint32_t first, last;
    bool written;
} build_life;
/* Finds the lives of roots, indexed by tensor. */
void build_find_lives(const builder *b, build_life *lives);
/* Lets outputs overwrite dead inputs where kernels can work in place, and places every tensor. */
pgy_status build_arena(builder *b, pgy_error *err) PGY_MUST_CHECK;

#endif
