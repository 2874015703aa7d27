/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel is, and how the engine calls it (docs/engine.md). Host kernels run in parts on a
 * team of threads; kernels of another device are enqueued on a stream.
 *
 * A family is one file src/kernels/<name>.c ending in `const kernel KERNELS_<name>[]`, and one line
 * in kernels.def. The engine asks every kernel that names the operator whether it accepts a
 * problem, takes the cheapest, prepares it once and runs it many times.
 */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include <stdatomic.h>

#include "base/system.h"
#include "device/device.h"
#include "kernels/format.h"
#include "ops/op.h"

/* A tensor of a problem. The shape is concrete. `data` points to the elements of a constant (in the
 * declared type, linear), else it is NULL. dtype NONE means an omitted input or output. */
typedef struct kernel_tensor {
    pgy_dtype dtype;
    int32_t rank;
    const int64_t *shape;
    kernel_layout layout;
    const void *data;
    /* Of a constant: equal pointers mean equal elements, while the build's table of packed weights
     * lives (kernels/packing.h). NULL: nothing is known. */
    const void *source;
    /* Of a large constant: `data` is no address to read from; kernel_problem.load brings the
     * elements. kernel_prepare and kernel_pack see to it. */
    bool elsewhere;
    /* Of a large constant of float32 that a kernel with KERNEL_NARROWS_WEIGHTS reads: the 16-bit
     * type that holds all its elements without loss. NONE: no type does. */
    pgy_dtype narrow;
    /* Of an output in float32: the 16-bit type to which its elements are rounded. NONE: they are
     * not. Only kernels with KERNEL_WIDENS are asked for that. */
    pgy_dtype rounds;
    /* Where its memory is: 0 for the host, else an index into the build's list of devices. */
    uint32_t space;
} kernel_tensor;

enum { KERNEL_MAX_INPUTS = 32, KERNEL_MAX_OUTPUTS = 32 };
/* `accept` may read the elements only of constants up to this many elements; `prepare` may read
 * all. */
enum { KERNEL_READABLE = 65536 };

struct kernel;
struct kernel_claim;
struct kernel_extent;
struct packed_piece;
struct packed_table;

/* A node as a kernel sees it: concrete shapes, types, formats and spaces. */
typedef struct kernel_problem {
    const struct kernel *self;   /* the kernel that is asked; set by kernel_accept */
    const op_node *node;         /* operator, opset, attributes */
    uint32_t space;              /* index of the kernel's device in the build's list */
    struct packed_table *packed; /* where prepare finds and leaves packed weights; NULL: nowhere */
    /* The packed bytes of the step exist already, as it is prepared again for other sizes. Only
     * kernels with KERNEL_KEEPS_PACKED are asked for that. kernel_pack then packs nothing. */
    bool keeps_packed;
    const void *kept; /* these bytes, for a kernel that finds parameters in them */
    size_t kept_bytes;
    /* Copies bytes of the elements of a constant that is elsewhere. False: they cannot be had. */
    bool (*load)(void *to, size_t offset, size_t size_bytes, const void *source, void *user);
    void *load_user;
    /* Told after some MiB of a large constant have been read, so that the memory that they came
     * from can be given back. May be NULL. */
    void (*passed)(void *user);
    void *passed_user;
    size_t input_count, output_count;
    /* layout: the caller sets the one it offers, accept the one it reads */
    kernel_tensor inputs[KERNEL_MAX_INPUTS];
    kernel_tensor outputs[KERNEL_MAX_OUTPUTS]; /* layout: accept sets the one it writes */
} kernel_problem;

/* What a step only copies: a program may place its tensors so that nothing is left to copy. */
typedef enum kernel_copies {
    KERNEL_COPIES_NOTHING,
    KERNEL_COPIES_JOINED, /* output 0 is the inputs, one after the other */
    KERNEL_COPIES_SPLIT   /* the outputs, one after the other, are input 0 */
} kernel_copies;

/* The result of `prepare`. Neither blob may hold pointers: plan files store them, and kernels read
 * them in the mapped file. */
typedef struct kernel_plan {
    void *params; /* mem_alloc */
    size_t params_bytes;
    void *packed; /* what kernel_pack made, or mem_alloc_aligned, 64 bytes; NULL: nothing is
                     packed */
    size_t packed_bytes;
    uint64_t packed_form;       /* hash of the numbers that kernel_pack got; else 0 */
    struct packed_piece *piece; /* holds `packed`; NULL: the plan itself owns `packed` */
    uint32_t packed_inputs;     /* bit i: input i is inside `packed` and not read when it runs */
    size_t workspace_bytes;     /* shared by all parts, 64-byte aligned, not cleared */
    size_t scratch_bytes;       /* for each thread, 64-byte aligned, not cleared */
    uint32_t phases;            /* at least 1; each sees what the ones before it wrote */
    uint32_t parts;             /* upper bound of the number of parts of each phase, at least 1 */
    int8_t in_place; /* input whose memory output 0 may take if no later step reads it; -1: none */
    uint8_t copies;  /* a kernel_copies */
} kernel_plan;

/* An index that a kernel found out of range, for the message. */
typedef struct kernel_bad_index {
    atomic_bool noted;
    atomic_llong value, size; /* it is not in [-size, size) */
} kernel_bad_index;
/* The caller's buffer of a cache, which holds the rows of the past already. rows 0: none, the cache
 * is compact. */
typedef struct kernel_room {
    uint64_t rows, size_bytes; /* rows of each head; bytes of the whole buffer */
} kernel_room;

/* One call of `run`: the work of `part` out of `parts`, a number that the plan allows. */
typedef struct kernel_run {
    const struct kernel *self;
    const void *params, *packed;
    void *const *tensors; /* inputs, then outputs of the problem; NULL if omitted or packed */
    void *workspace, *scratch;
    uint32_t phase, part, parts;
    bool resumed; /* `scratch` is as another part of this phase left it, which ended just before */
    /* A kernel_fault_kind; NULL: faults are not reported. For an enqueued kernel it lies in memory
     * that host and device share. */
    atomic_int *fault;
    kernel_bad_index *bad; /* where an index out of range is noted, too; may be NULL */
    void *loaded;          /* for an enqueued kernel: the result of its `load` */
    /* For KERNEL_JOINS_CACHES and KERNEL_GROWS_CACHES: the buffers of outputs 1 and 2. */
    kernel_room rooms[2];
} kernel_run;

/* Facts about a kernel that the 16-bit adapter (half_adapter.h) and kernel_prepare rely on. */
enum {
    KERNEL_TAKES_HALF = 1, /* only moves or converts elements, 16-bit floats too: no adapter */
    KERNEL_KEEPS_HALF_WEIGHTS = 2, /* a constant input 1 stays in 16 bits */
    KERNEL_SHARES_WEIGHTS = 4, /* `prepare` reads large constants of several bytes an element only
                                  in the function that it gives kernel_pack */
    /* kernel_pack makes all packed bytes, and nothing but its `fill` reads the elements that they
     * hold, so that a step can be prepared for other sizes without them. */
    KERNEL_KEEPS_PACKED = 8,
    /* Outputs 1 and 2 may be written over inputs 4 and 5: caches that grow. */
    KERNEL_JOINS_CACHES = 16,
    /* Outputs 1 and 2 may be written over inputs 3 and 4: caches of the same length. */
    KERNEL_SHARES_CACHES = 32,
    /* On a device: the next kernel begins only when this one has ended, while others let it start
     * early. */
    KERNEL_HOLDS_NEXT = 64,
    KERNEL_NARROWS_WEIGHTS = 128, /* reads kernel_tensor.narrow of input 1 */
    /* Waits for other ranks: it is neither measured nor captured in a graph. */
    KERNEL_JOINS_RANKS = 256,
    /* Outputs 1 and 2 may also be longer than inputs 3 and 4, if `rooms` tells their buffers. */
    KERNEL_GROWS_CACHES = 512,
    /* Computes 16-bit floats in float32. Each of its tensors, if it is no constant, may be in
     * float32 as well; such an output is rounded. */
    KERNEL_WIDENS = 1024,
    /* Rounds output 0 as kernel_tensor.rounds says; for others the 16-bit adapter does so. */
    KERNEL_ROUNDS = 2048,
    /* Many short parts take no longer than a few long ones, so a long step may have more of them:
     * threads then end it nearly together. */
    KERNEL_SHORT_PARTS = 4096,
};

typedef struct kernel {
    const char *name; /* such as "conv_f32_direct"; NULL ends a table */
    uint16_t version; /* grows when parameters, packed data or results change */
    const char *ops;  /* word list of operators, e.g. "Relu Sigmoid"; "com.microsoft:FusedConv" */
    cpu_level needs;
    /* Constants for the estimate of `accept`, such as flops per ns; each family decides what they
     * mean. */
    double rates[2];
    uint32_t flags; /* KERNEL_TAKES_HALF, ... */
    /* The number of leading axes of output 0 along which results are independent, so that the
     * problem may be cut into chunks of rows. NULL: none. */
    int32_t (*free_axes)(const kernel_problem *u);
    /* Returns false if the kernel does not compute this problem. Else it sets the layouts in `u`,
     * and *cost_ns to the time on one core by a simple model (for an enqueued kernel: on the
     * device). The caller has set all spaces to the kernel's own; `accept` sets 0 for an operand
     * that it reads on the host, such as a shape. Pure: the same problem gives the same answer. */
    bool (*accept)(kernel_problem *u, double *cost_ns);
    /* Called only by kernel_prepare, for a problem that `accept` accepted, with the layouts it set.
     */
    pgy_status (*prepare)(kernel_plan *out, const kernel_problem *u, pgy_error *err);
    void (*run)(const kernel_run *r);
    /* Parameters from a plan file can be any bytes. `extent` refuses those that `run` cannot
     * execute safely; for all others it states which memory `run` touches. Manual:
     * kernels/extent.h. Pure. */
    bool (*extent)(struct kernel_extent *out, const struct kernel_claim *claim);
    /* ---- Kernels of a device, which have no `run` ---- */
    const char *device; /* kind of device, "cuda"; NULL for kernels of the host */
    /* One call does all the work, as the only phase, part and thread, without scratch. Tensors,
     * packed and workspace are in device memory; the call reads operands on the host before it
     * returns. It does not wait for the stream. Faults found on the device go to r->fault. */
    pgy_status (*enqueue)(const kernel_run *r, device_stream *stream, pgy_error *err);
    /* Makes what `enqueue` needs but a plan cannot store, such as loaded code. Called once for each
     * step before the first run; the result is in r->loaded. NULL: the kernel needs nothing. */
    pgy_status (*load)(void **out, const struct kernel *self, const kernel_plan *plan, device *d,
                       pgy_error *err);
    void (*unload)(void *loaded);
} kernel;

void kernel_plan_deinit(kernel_plan *p);

/* Enumerates the kernels of an operator that this processor (and POLYGRAPHY_CPU) allows, in the
 * order of kernels.def: i counts from 0; NULL after the last. */
const kernel *kernel_for(const char *domain, const char *op, size_t i);
/* Enumerates all kernels: i counts from 0; NULL after the last. */
const kernel *kernel_at(size_t i);
/* Finds the kernel that a plan names. NULL: unknown, of another version, or not for this
 * processor. */
const kernel *kernel_find(const char *name, uint16_t version);
/* Adds the kernels of a device behind all others in these look-ups. The table ends with name NULL.
 * It is borrowed and must outlive every plan, program and problem that refers to it. */
pgy_status kernel_offer(const kernel *table, pgy_error *err) PGY_MUST_CHECK;
void kernel_withdraw(const kernel *table); /* later look-ups skip its kernels */

/* Sets `self` and the spaces as the contract of `accept` demands, then calls it. */
static inline bool kernel_accept(const kernel *k, kernel_problem *u, double *cost_ns)
{
    u->self = k;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].space = u->space;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].space = u->space;
    return k->accept(u, cost_ns);
}

/* Reasons for which a whole run fails. */
typedef enum kernel_fault_kind {
    KERNEL_FAULT_NONE,
    KERNEL_FAULT_INDEX,  /* an index in the input data is out of range, or a shape does not fit */
    KERNEL_FAULT_LENGTH, /* a sequence length or position does not fit caches or tables */
    KERNEL_FAULT_PLUGIN, /* a plug-in kernel failed; it has logged the reason */
    KERNEL_FAULT_RANKS,  /* a collective failed; communicator_why has the reason */
} kernel_fault_kind;

pgy_status kernel_fault_status(int kind);
enum { KERNEL_FAULT_BYTES = 512 };
/* Writes "index 7 is not in [-5, 5)" if the run noted one, else what the status stands for. */
void kernel_fault_print(char text[KERNEL_FAULT_BYTES], pgy_status status,
                        const kernel_bad_index *bad);

static inline void kernel_fail(const kernel_run *r, kernel_fault_kind kind)
{
    if (r->fault) atomic_store_explicit(r->fault, kind, memory_order_relaxed);
}

static inline void kernel_fault(const kernel_run *r)
{
    kernel_fail(r, KERNEL_FAULT_INDEX);
}

/* A fault that names the index and the axis' size. */
static inline void kernel_fault_index(const kernel_run *r, int64_t index, uint64_t size)
{
    if (r->bad && !atomic_exchange_explicit(&r->bad->noted, true, memory_order_relaxed)) {
        atomic_store_explicit(&r->bad->value, (long long)index, memory_order_relaxed);
        atomic_store_explicit(&r->bad->size, (long long)size, memory_order_relaxed);
    }
    kernel_fault(r);
}

/* ---- Help for kernels ----------------------------------------------------------------------- */

/* For `free_axes`: the number of all axes of output 0, or of those before `axis`, which counts from
 * the end if it is negative. */
int32_t kernel_all_axes(const kernel_problem *u);
int32_t kernel_axes_before(const kernel_problem *u, int64_t axis);
size_t kernel_count(const kernel_tensor *t);      /* number of elements */
size_t kernel_size_bytes(const kernel_tensor *t); /* in its layout, padding lanes included */
/* Divides `count` items evenly into `parts` contiguous ranges; [*from, *to) is that of `part`.
 * Ranges of neighbouring parts, which one thread runs, have even sums, too. */
void kernel_share(size_t *from, size_t *to, size_t count, uint32_t part, uint32_t parts);
/* Runs a prepared kernel of the host on this thread alone, all phases and parts: for tests. */
void kernel_run_alone(const kernel *k, const kernel_plan *p, void *const *tensors, uint32_t parts);

#endif
