/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the interpreter share: its state, the running node, and memory. */
#ifndef ENGINE_PROGRAM_INTERPRET_PARTS_H
#define ENGINE_PROGRAM_INTERPRET_PARTS_H

#include "base/arena.h"
#include "base/str.h"
#include "engine/program/interpret.h"
#include "kernels/finder.h"
#include "kernels/kernel.h"

struct kept_data;
struct prepared;
struct text_labels;
struct zip_keys;

struct interpreter {
    execute_operators operators;
    team *team;
    strmap kept;                /* maps a key of node and shapes to the prepared kernel */
    struct prepared *all;       /* list of all prepared kernels */
    struct kept_data *data;     /* list of what operators keep */
    struct zip_keys *zips;      /* list of the keys of ZipMaps */
    struct text_labels *labels; /* list of the keys of LabelEncoders */
    void *memory;               /* workspace, then scratch of each thread */
    size_t memory_bytes;
    uint64_t kernel_runs;
    const atomic_int *failed; /* not PGY_OK: the run must end; may be NULL */
    const interpreter_watch *watch;
    arena spare;            /* of the node that ran last, for the next one */
    interpreter_room *room; /* may be NULL */
    void *room_user;
};

/* A running node. */
typedef struct call {
    interpreter *it;
    pgy_node *n;
    const op_node *node;
    const op_tensor *inputs;
    const bool *wanted;
    const op_host *host;
    arena memory;
    pgy_tensor **declared; /* for each input: the tensor in its declared type */
    kernel_problem problem;
} call;

/* ---- interpret_memory.c ---- */
pgy_status interpret_no_memory(pgy_error *err);
/* Weights in a mapped file may have any address; vector loads and conversions need alignment. */
pgy_status interpret_align(pgy_tensor **t, pgy_error *err) PGY_MUST_CHECK;
const char *interpret_domain_of(const pgy_node *n);
/* Converts input i from its storage type to its declared type, at an aligned address. */
pgy_status interpret_declared(call *c, size_t i, pgy_error *err) PGY_MUST_CHECK;
/* Grows the single block that holds workspace, then scratch memory of each part. */
pgy_status interpret_hold_memory(interpreter *it, size_t wanted, pgy_error *err) PGY_MUST_CHECK;
/* Makes output i, where the caller wants it. */
pgy_status interpret_create_output(op_tensor *outputs, size_t i, const call *c,
                                   const kernel_tensor *t, pgy_error *err) PGY_MUST_CHECK;

/* What the operator keeps of this node from run to run; NULL: nothing can be kept. */
op_kept *interpret_kept(call *c);
void interpret_forget_kept(interpreter *it);

/* Reads the inferred shape; false: some dimension is unknown. */
bool interpret_shape_of(int64_t *shape, const op_value *v);

/* ---- interpret_kernel.c ---- */
bool interpret_can_have_kernel(const call *c);
/* Sets *done if a kernel ran the node. */
pgy_status interpret_try_kernel(bool *done, call *c, op_tensor *outputs,
                                pgy_error *err) PGY_MUST_CHECK;
void interpret_forget_kernels(interpreter *it);

/* Weights of the top graph and values of Constant nodes do not change between runs. */
bool interpret_is_constant(const pgy_value *v);

/* ---- interpret_direct.c ---- */
/* Sets *done if the node was one of these and ran. */
pgy_status interpret_try_direct(bool *done, call *c, op_tensor *outputs,
                                pgy_error *err) PGY_MUST_CHECK;
void interpret_forget_maps(interpreter *it);

/* ---- interpret_labels.c ---- */
bool interpret_is_text_encoder(const call *c);
pgy_status interpret_encode_texts(bool *done, call *c, op_tensor *outputs,
                                  pgy_error *err) PGY_MUST_CHECK;
void interpret_forget_labels(interpreter *it);

/* ---- interpret_finder.c ---- */
/* The finder of the node, unless an input is no tensor of numbers. */
const finder *interpret_finder_of(const call *c);
/* Sets *done if the finder ran the node. */
pgy_status interpret_try_finder(bool *done, call *c, const finder *finds, op_tensor *outputs,
                                pgy_error *err) PGY_MUST_CHECK;

#endif
