/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: what one is, and how the engine uses it (docs/engine.md). Those of the host run in parts
 * on a team of threads; those of another device are enqueued on a stream.
 *
 * A family is one file src/kernels/<name>.c ending in `const kernel KERNELS_<name>[]`, and one line
 * in kernels.def. The engine asks every kernel that names the operator whether it accepts a use,
 * takes the cheapest, prepares it once and runs it many times.
 */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include <stdatomic.h>

#include "base/system.h"
#include "device/device.h"
#include "kernels/format.h"
#include "ops/op.h"

/* A tensor of a use: concrete shape; `data` of constants (in the declared type, linear), else NULL.
 * dtype NONE: an omitted input or output. */
typedef struct kernel_tensor {
    pgy_dtype dtype;
    int32_t rank;
    const int64_t *shape;
    kernel_layout layout;
    const void *data;
    uint32_t space; /* where its memory is: 0 the host, else a device of the build's list */
} kernel_tensor;

enum { KERNEL_MAX_INPUTS = 32, KERNEL_MAX_OUTPUTS = 32 };
/* `accept` may look at the elements of a constant that has at most so many; `prepare` at all. */
enum { KERNEL_READABLE = 65536 };

struct kernel;
struct kernel_claim;
struct kernel_extent;

/* A node with concrete shapes. */
typedef struct kernel_problem {
    const struct kernel *self; /* that is asked: set by kernel_accept */
    const op_node *node;       /* operator, opset, attributes */
    uint32_t space;            /* of the kernel's device, in the build's list */
    size_t input_count, output_count;
    kernel_tensor inputs[KERNEL_MAX_INPUTS];   /* layout: as offered; accept sets what it wants */
    kernel_tensor outputs[KERNEL_MAX_OUTPUTS]; /* layout: accept sets what it gives */
} kernel_problem;

/* What prepare makes. Both blobs hold no pointers: they are written into plans and used where they
 * are mapped. */
typedef struct kernel_plan {
    void *params; /* mem_alloc */
    size_t params_bytes;
    void *packed; /* mem_alloc_aligned, 64 bytes; NULL: nothing is packed */
    size_t packed_bytes;
    uint32_t packed_inputs; /* bit i: input i is inside `packed` and not read when it runs */
    size_t workspace_bytes; /* shared by all parts, 64-byte aligned, not cleared */
    size_t scratch_bytes;   /* for each thread, 64-byte aligned, not cleared */
    uint32_t phases;        /* at least 1; a barrier lies between two */
    uint32_t parts;         /* into how many the work may be cut, at least 1 */
    int8_t in_place;        /* output 0 may lie where this input lies if nobody else needs it; -1 */
} kernel_plan;

/* One call of run: the work of [part] of `parts`, which is at most what the plan allows. */
typedef struct kernel_run {
    const struct kernel *self;
    const void *params, *packed;
    void *const *tensors; /* inputs, then outputs, as in the use; NULL where omitted or packed */
    void *workspace, *scratch;
    uint32_t phase, part, parts;
    atomic_int *fault; /* a kernel_fault_kind; NULL: nobody asks. Of an enqueued kernel it is memory
                          that host and device share */
    void *loaded;      /* of an enqueued kernel: what its `load` made */
} kernel_run;

typedef struct kernel {
    const char *name; /* "conv_f32_direct"; NULL ends a table */
    uint16_t version; /* of parameters, packed form and numerics */
    const char *ops;  /* word list of operators, e.g. "Relu Sigmoid"; "com.microsoft:FusedConv" */
    cpu_level needs;
    /* False: not this use. Else layouts are set in `u` and *cost_ns is the time on one core by a
     * simple model (of an enqueued kernel: on the device). Spaces of all tensors are the kernel's
     * own before; an operand that it wants on the host, such as a shape, gets 0. Pure: the same use
     * gives the same answer. */
    bool (*accept)(kernel_problem *u, double *cost_ns);
    /* Only for what accept accepted, with the layouts it set. */
    pgy_status (*prepare)(kernel_plan *out, const kernel_problem *u, pgy_error *err);
    void (*run)(const kernel_run *r);
    /* Parameters from a plan file are any bytes: refuses those that `run` cannot obey, and states
     * what `run` touches with the others. kernels/extent.h is the manual. Pure. */
    bool (*extent)(struct kernel_extent *out, const struct kernel_claim *claim);
    /* ---- Kernels of a device, which have no `run` ---- */
    const char *device; /* its kind: "cuda"; NULL: the host */
    /* One call for all of the work: the only phase, part and thread; no scratch. Tensors, packed
     * and workspace are the device's memory; operands on the host are read before it returns. Does
     * not wait for the stream. A fault that only the device sees goes to r->fault. */
    pgy_status (*enqueue)(const kernel_run *r, device_stream *stream, pgy_error *err);
    /* What `enqueue` needs and no plan can hold, such as loaded code: made once for each step
     * before the first run, found in r->loaded. NULL: nothing. */
    pgy_status (*load)(void **out, const struct kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err);
    void (*unload)(void *loaded);
} kernel;

void kernel_plan_deinit(kernel_plan *p);

/* Kernels for an operator that this processor (and POLYGRAPHY_CPU) allows, in kernels.def order:
 * start with i = 0 and count up; NULL after the last. */
const kernel *kernel_for(const char *domain, const char *op, size_t i);
/* All of them: start with i = 0 and count up; NULL after the last. */
const kernel *kernel_at(size_t i);
/* For plans. NULL: unknown, of another version, or not for this processor. */
const kernel *kernel_find(const char *name, uint16_t version);
/* Kernels of a device, from now on behind all others in these look-ups. The table ends as a
 * family's does, is borrowed, and must outlive all that uses it. */
pgy_status kernel_offer(const kernel *table, pgy_error *err) PGY_MUST_CHECK;
void kernel_withdraw(const kernel *table); /* nobody finds it any more */

/* Asks a kernel. */
static inline bool kernel_accept(const kernel *k, kernel_problem *u, double *cost_ns)
{
    u->self = k;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].space = u->space;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].space = u->space;
    return k->accept(u, cost_ns);
}

/* Why a run fails as a whole. */
typedef enum kernel_fault_kind {
    KERNEL_FAULT_NONE,
    KERNEL_FAULT_INDEX,  /* the data are wrong: an index is out of range */
    KERNEL_FAULT_PLUGIN, /* code from outside failed, and has said why in the log */
} kernel_fault_kind;

pgy_status kernel_fault_status(int kind);
const char *kernel_fault_text(pgy_status status); /* "an index is out of range" */

static inline void kernel_fail(const kernel_run *r, kernel_fault_kind kind)
{
    if (r->fault) atomic_store_explicit(r->fault, kind, memory_order_relaxed);
}

static inline void kernel_fault(const kernel_run *r)
{
    kernel_fail(r, KERNEL_FAULT_INDEX);
}

/* ---- Help for kernels ------------------------------------------------------------------------ */

size_t kernel_count(const kernel_tensor *t);      /* elements */
size_t kernel_size_bytes(const kernel_tensor *t); /* in its layout */
/* [from, to) of part `part` of `parts` over `count` items: even, contiguous. */
void kernel_share(size_t *from, size_t *to, size_t count, uint32_t part, uint32_t parts);
/* Runs a prepared kernel of the host on this thread alone, all phases and parts: for tests. */
void kernel_run_alone(const kernel *k, const kernel_plan *p, void *const *tensors, uint32_t parts);

#endif
