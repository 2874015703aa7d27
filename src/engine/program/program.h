/* SPDX-License-Identifier: Apache-2.0 */
/* A program: a graph with concrete shapes as a list of steps over an arena, and the code that runs
 * it. */
#ifndef ENGINE_PROGRAM_PROGRAM_H
#define ENGINE_PROGRAM_PROGRAM_H

#include <polygraphy/build_config.h>

#include "graph/graph.h"
#include "kernels/packing.h"
#include "kernels/team.h"

typedef enum program_place {
    PROGRAM_ARENA,    /* offset into the arena */
    PROGRAM_CONSTANT, /* `data`; on a device an offset into its constants */
    PROGRAM_INPUT,    /* the caller's memory; offset = index of the graph's input */
    PROGRAM_OUTPUT    /* the caller's memory; offset = index of the graph's output */
} program_place;

typedef struct program_tensor {
    const char *name;
    pgy_dtype dtype;
    int32_t rank;
    const int64_t *shape;
    kernel_layout layout;
    program_place place;
    uint32_t space; /* the space that it lies in; 0: the host */
    uint64_t offset, size_bytes;
    const void *data; /* of a constant: its elements on the host; NULL in a stripped plan */
} program_tensor;

#define PROGRAM_NO_TENSOR UINT32_MAX

/* What a step does. The first thread enqueues, or waits for, everything but host kernels and
 * definitions; work of one space runs in the order of its steps. */
typedef enum program_act {
    PROGRAM_RUN,    /* runs its kernel on its space's device, or on the host its node's reference
                       definition */
    PROGRAM_COPY,   /* copies between the host and its device, on the stream of its space */
    PROGRAM_RECORD, /* records its event on the stream of its space */
    PROGRAM_WAIT,   /* makes its space wait for its event; space 0: the host waits */
    PROGRAM_ACT_END
} program_act;

typedef struct program_step {
    const char *label, *op_type; /* label and operator of the node; a reorder or copy has its
                                    tensor's name */
    program_act act;
    uint32_t space;
    uint32_t event;            /* for RECORD and WAIT: index of the event */
    const kernel *kernel;      /* NULL: the reference definition of the node runs */
    kernel_plan plan;          /* `packed` is on the host, and NULL in a stripped plan */
    uint64_t packed_offset;    /* of the packed bytes in the constants of its space */
    uint64_t workspace_offset; /* offset in the arena of its space */
    pgy_node *node;            /* for a reference step: its node in the graph; else NULL */
    uint32_t node_index;       /* for a reference step: the index of its node in the graph */
    const op_node *op; /* for a reference step: its operator; NULL: it has subgraphs, so `node`
                          is run */
    const uint32_t *tensors; /* indices of its tensors: inputs, captured values of a reference step,
                                then outputs; PROGRAM_NO_TENSOR where omitted */
    uint32_t input_count, captured_count, output_count;
    double cost_ns; /* selection's estimate */
    double flops;   /* operations of a layer made of products; 0: unknown */
} program_step;

/* A tensor that can be read after a step. */
typedef struct program_mark {
    uint32_t step; /* the step that computes it; PROGRAM_NO_STEP: it is valid from the start */
    uint32_t tensor;
} program_mark;

#define PROGRAM_NO_STEP UINT32_MAX

enum { PROGRAM_MAX_SPACES = 4 }; /* equals PLAN_MAX_SPACES */

/* Constant data on the host that a program reads. */
typedef struct program_piece {
    const void *data;
    uint64_t offset, size_bytes; /* where it lies in the constants of a device */
    packed_piece *piece;         /* retained; NULL: data lies in a plan file */
} program_piece;

/* Offsets in the arena of a device other than the host are multiples of this, as libraries of CUDA
 * expect of addresses. */
enum { PROGRAM_DEVICE_ALIGNMENT = 256 };

/* The memory of one device, in which tensors of the program lie. */
typedef struct program_space {
    device *device;                 /* NULL: the plan is only inspected */
    const char *name, *fingerprint; /* name and fingerprint of the device; the host's fingerprint
                                       is NULL */
    double copy_ns, copy_rate; /* cost of copies from and to the host, as in device_properties */
    program_piece *pieces;     /* its constants; devices get a copy */
    size_t piece_count, piece_capacity;
    uint64_t constant_bytes, arena_bytes, arena_bound;
    void *resident;        /* the device's copy of the constants, made for the first context */
    device_stream *stream; /* the stream that copied it */
} program_space;

typedef struct program {
    atomic_size_t users;
    arena memory;
    program_tensor *tensors;
    size_t tensor_count;
    program_step *steps;
    size_t step_count;
    /* Steps that had nothing to copy (joins.c), without parameters. Their kernels are a part of the
     * choice that a tactic replay repeats. A program of a plan has none. */
    program_step *left_out;
    size_t left_out_count;
    program_space spaces[PROGRAM_MAX_SPACES]; /* the host first */
    uint32_t space_count, event_count;
    bool mapped;    /* parameters lie in a plan file or belong to another program */
    uint64_t range; /* number of the range that made it (range.h); 0: none */
    /* Of a range: the steps that differ between its programs, and this program's elements of
     * constants that follow from sizes. */
    const uint32_t *resized;
    size_t resized_count;
    char *elements;
    void *owner; /* owner of external data that the program points into, released with it; may be
                    NULL */
    void (*release_owner)(void *owner);
    /* Takes over a program that nobody uses any more; false, or no function: it is freed. */
    bool (*recycle)(struct program *p);
    uint64_t placings; /* how often its range had placed tensors when this program was made */
    size_t workspace_bytes, scratch_bytes; /* largest that any step needs; workspaces lie in the
                                              arenas */
    size_t input_count, output_count;
    const uint32_t *outputs;   /* indexed by graph output: its tensor */
    const program_mark *marks; /* sorted by step; tensors that are valid from the start come
                                  first */
    size_t mark_count;
} program;

enum {
    PROGRAM_SHORT_NS = 3000,  /* one thread runs shorter steps: it costs as much to share one */
    PROGRAM_WAKE_NS = 100000, /* threads that sleep are not woken for less, as they come too late */
    PROGRAM_PART_NS = 4000,   /* a part is no shorter, if there are more parts than threads */
    PROGRAM_PARTS = 4,        /* the most parts for each thread */
    PROGRAM_SHORT_PARTS = 16, /* the same for kernels with KERNEL_SHORT_PARTS */
    PROGRAM_LONG_NS = 25000,  /* more than PROGRAM_PARTS for each thread are no shorter */
};
/* The number of parts that a step is cut into, when its kernel allows up to `parts`. Long steps
 * have several for each thread, so that a thread that is done can take those of a slower one. */
static inline uint32_t program_parts(const kernel *k, double cost_ns, uint32_t parts,
                                     size_t threads)
{
    if (cost_ns < PROGRAM_SHORT_NS || parts <= 1 || threads <= 1) return 1;
    const double longer = cost_ns / ((double)threads * PROGRAM_LONG_NS);
    size_t each = PROGRAM_PARTS;
    if (k->flags & KERNEL_SHORT_PARTS && longer > PROGRAM_PARTS)
        each = longer < PROGRAM_SHORT_PARTS ? (size_t)longer : PROGRAM_SHORT_PARTS;
    const size_t most = threads * each;
    size_t wanted =
        cost_ns < (double)(most * PROGRAM_PART_NS) ? (size_t)(cost_ns / PROGRAM_PART_NS) : most;
    if (wanted < threads) wanted = threads;
    return parts < wanted ? parts : (uint32_t)wanted;
}

/* What a program is built for. */
struct tactics;
struct range;
typedef struct build_options {
    const pgy_build_config *config; /* never NULL */
    const struct tactics *replay;   /* tactics to obey (tactics/replay.h); NULL: none */
    bool replay_given;              /* by the caller: warn of nodes that the replay does not name */
    struct timing *timing;          /* measured times (tactics/timing.h); NULL: estimates only */
    size_t threads;                 /* number of threads that will run the program */
    bool sizes_vary;                /* programs for other sizes of inputs will share the weights */
    packed_table *packed;           /* where programs share weights; NULL: this one does not */
    struct range *range; /* notes what depends on the sizes of inputs (program/range.h); the graph
                            was inferred with its dims. NULL: all shapes are numbers */
} build_options;

/* Builds a program from a graph whose shapes are all known (inference with concrete inputs has
 * run). The graph must outlive a program that points to it. PGY_E_UNSUPPORTED: a shape or type
 * depends on data, so the graph must be interpreted. A replay binds the nodes that it names; it is
 * an error if one cannot be run that way. `o` NULL: defaults. */
pgy_status program_build(program **out, pgy_graph *g, const build_options *o,
                         pgy_error *err) PGY_MUST_CHECK;
program *program_retain(program *p);
void program_release(program *p); /* NULL is fine */

/* What a program needs to run: memory, launches, state; one run at a time. It retains the program;
 * the team must outlive it. */
typedef struct program_context program_context;
pgy_status program_context_create(program_context **out, program *p, team *t,
                                  pgy_error *err) PGY_MUST_CHECK;
void program_context_destroy(program_context *c);
/* Lets go of the program, so that its range can make the next one of it. A resting context can only
 * be renewed or destroyed. */
void program_context_rest(program_context *c);
/* Makes a resting context ready for a program of the same range: only what differs between its
 * programs is made anew. False: the program is of another range, or of none. */
bool program_context_renew(program_context *c, program *p);
/* Does a step run subgraphs or functions? Each context needs somebody who runs them. */
bool program_needs_graph(const program *p);
/* Does some step run by its reference definition? Such steps point to nodes of the graph that the
 * program was built from. */
bool program_points_to_graph(const program *p);
/* Runs the steps that have subgraphs, on the thread that runs the program, while the team is idle.
 * `n` is the step's node. */
typedef struct program_bodies {
    void *user;
    pgy_status (*run)(void *user, const program *p, const program_step *s, pgy_node *n,
                      void *const *addresses, pgy_error *err);
} program_bodies;
/* Finds the nodes of these steps in `own`, a copy of the graph with shapes inferred as for the
 * program. `bodies` is copied. */
pgy_status program_context_bind(program_context *c, pgy_graph *own, const program_bodies *bodies,
                                pgy_error *err) PGY_MUST_CHECK;
/* Bytes of memory that a run with `threads` threads needs. */
uint64_t program_memory_bytes(const program *p, size_t threads);
/* Sets the memory of runs: program_memory_bytes at a multiple of 64, until the next call. Without
 * it, the first run allocates its own. */
void program_context_place(program_context *c, void *memory);
/* Another thread may set *failed to a status other than PGY_OK to stop the run. It must outlive the
 * context, and the caller resets it before a run. */
void program_context_stop_by(program_context *c, atomic_int *failed);

/* Prepares for a trace that is being recorded; call it before each run, before its time begins. */
void program_context_trace(program_context *c);
/* The row of a step's layer in the trace. */
uint32_t program_context_step_row(const program_context *c, size_t step);
/* When a step of the last recorded run ended, by clock_ns. */
int64_t program_context_step_end(const program_context *c, size_t step);

/* Callbacks of profiled and debugged runs; NULL members are not called. */
typedef struct program_watch {
    int64_t *times; /* indexed by step, in nanoseconds */
    /* Called on one thread while the others wait; returns false to end the run. */
    bool (*show)(void *user, const program *p, const program_mark *mark, const void *data);
    /* Called for each tensor that a step has written on the host. */
    void (*step)(void *user, uint32_t step, uint32_t tensor, const void *data);
    void *user;
} program_watch;
/* Refuses outputs in the memory of inputs, except where the step that reads the input may write
 * over it: caches of attention, and what a kernel computes in place. */
pgy_status program_context_check_overlap(const program_context *c, const void *const *inputs,
                                         void *const *outputs, pgy_error *err) PGY_MUST_CHECK;
/* ---- caches.c ---- */
/* A cache that the caller keeps in a buffer [batch, heads, rows, size]. */
typedef struct program_cache {
    size_t input, output; /* of the graph: the past, and the past with new rows */
    const int64_t *shape; /* of the buffer, rank 4, and in numbers that kernels check */
    kernel_room room;
    bool kept;      /* out: a run may find the past there, and add its rows */
    int64_t length; /* out, if kept: rows after a run */
} program_cache;
/* Finds the caches that runs can keep, and sets them for the next runs of the context, whose inputs
 * and outputs are the buffers. Count 0: none, as at first. A kept cache is read and written by one
 * step alone, whose kernel needs no copy. */
pgy_status program_context_keep(program_context *c, program_cache *caches, size_t count,
                                pgy_error *err) PGY_MUST_CHECK;
/* Sets the buffer of keys or values (`which` 0, 1) for a step. */
void program_context_set_room(program_context *c, size_t step, uint32_t which, kernel_room room);
const program *program_context_program(const program_context *c);

/* Runs the program. `inputs` and `outputs` point to linear data, in graph order. `watch` may be
 * NULL. */
pgy_status program_execute(program_context *c, const void *const *inputs, void *const *outputs,
                           const program_watch *watch, pgy_error *err) PGY_MUST_CHECK;

/* A block of memory that is needed during steps [first, last]. */
typedef struct program_interval {
    uint32_t first, last;
    uint64_t size_bytes;
    uint64_t offset;  /* out: a multiple of 64 */
    uint64_t breadth; /* out: most bytes alive at once during these steps */
} program_interval;
/* ---- spaces.c ---- */
/* Finds the host and the devices that a configuration names. PGY_E_NOT_FOUND: the process has no
 * such device. */
pgy_status program_find_spaces(program *p, const pgy_build_config *config,
                               pgy_error *err) PGY_MUST_CHECK;
/* Can the devices that a configuration names be used? */
pgy_status program_check_devices(const pgy_build_config *config, pgy_error *err) PGY_MUST_CHECK;
/* If the configuration permits it (gpu_fallback), leaves out the devices that cannot be used, with
 * a warning for each. The names of the others go into `kept`. */
void program_drop_devices(pgy_build_config *config, const char *kept[PROGRAM_MAX_SPACES]);
/* Estimates the time of a copy between the host and a device. */
double program_copy_ns(const program *p, uint32_t space, double size_bytes);
/* Copies the constants to each device that does not have them yet. */
pgy_status program_make_resident(program *p, pgy_error *err) PGY_MUST_CHECK;
/* Adds a piece to the constants of a space, and takes it, also on failure; *offset is a multiple of
 * 64. */
pgy_status program_add_piece(uint64_t *offset, program *p, uint32_t space, packed_piece *piece,
                             pgy_error *err) PGY_MUST_CHECK;
void program_release_spaces(program *p);

/* Gives every interval an offset, so that intervals that overlap in time do not overlap in memory.
 * *bound is the most bytes alive at once: a lower bound for every placement. */
pgy_status program_place_intervals(program_interval *items, size_t count, uint64_t *total,
                                   uint64_t *bound, pgy_error *err) PGY_MUST_CHECK;
/* The same without a search: much faster, and often worse by some per cent. */
pgy_status program_place_quickly(program_interval *items, size_t count, uint64_t *total,
                                 uint64_t *bound, pgy_error *err) PGY_MUST_CHECK;

#endif
