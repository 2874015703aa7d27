/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of flow.h. */
#ifndef ENGINE_PROGRAM_FLOW_PARTS_H
#define ENGINE_PROGRAM_FLOW_PARTS_H

#include "engine/program/flow.h"
#include "engine/program/interpret.h"
#include "engine/program/range.h"
#include "evaluate/describe.h"
#include "evaluate/plan.h"
#include "graph/side_table.h"

struct flow_segment;

/* What runs at one place of a level: a segment, or one node alone. */
typedef struct flow_item {
    size_t first, end;            /* in the order of the level's nodes */
    struct flow_segment *segment; /* NULL: node `first` runs alone */
} flow_item;

/* The main graph or a body. Items are found when a run first comes to their nodes, because then the
 * shapes in front of them are known. */
typedef struct flow_level {
    const level_plan *plan;
    pgy_node **order; /* the nodes that run, without constants */
    size_t node_count;
    flow_item *items;
    size_t item_count, item_capacity;
    op_tensor *constants; /* indexed by slot: weights that were read so far */
    size_t *places;       /* indexed by node->index: place in `order` + 1; 0: it does not run */
    struct flow_frame *spare;
} flow_level;

/* Memory of the caller for a value. */
typedef struct flow_place {
    void *data; /* NULL: none */
    size_t size_bytes;
} flow_place;

/* The values of a level in one run of it. */
typedef struct flow_frame {
    flow_level *level;
    op_tensor *values;   /* indexed by slot */
    uint32_t *left;      /* indexed by slot: reads still to come; at 0 the value is released */
    flow_place *places;  /* indexed by slot: where the value should be written */
    op_tensor *in, *out; /* of the node that runs */
    bool *wanted;
    struct flow_frame *outer, *next;
} flow_frame;

SIDE_TABLE(flow_levels, flow_level *)

struct flow {
    pgy_graph *graph;
    flow_options o;
    pgy_build_config config; /* of segments */
    graph_plan plan;
    flow_levels levels; /* indexed by level id */
    interpreter *interpreter;
    struct flow_segment *segments; /* all */
    void *memory;                  /* shared by all programs, one of which runs at a time */
    size_t memory_bytes;
    flow_frame *frame;    /* of the node that runs */
    const pgy_node *node; /* one with subgraphs that runs */
    describe described;
    const flow_place *step_places; /* of the results of the step that runs; NULL: none */
    const flow_watch *watch;
    const flow_rooms *rooms; /* NULL: none */
    str path;                /* of the body that runs: "" or "loop_3/iter_12/" */
    flow_count count;
    op_host host;
    pgy_status (*run_level)(flow *f, flow_frame *frame, pgy_error *err);
};

pgy_status flow_no_memory(pgy_error *err);

/* ---- flow_frame.c ---- */
/* PGY_E_CANCELLED if the run must end. */
pgy_status flow_check(const flow *f, pgy_error *err) PGY_MUST_CHECK;
pgy_status flow_level_of(flow_level **out, flow *f, const pgy_graph *g,
                         pgy_error *err) PGY_MUST_CHECK;
void flow_levels_destroy(flow *f);
/* A frame for one run of a level; flow_frame_leave releases its values and keeps it. */
pgy_status flow_frame_enter(flow_frame **out, flow *f, const pgy_graph *g, flow_frame *outer,
                            pgy_error *err) PGY_MUST_CHECK;
void flow_frame_leave(flow_frame *frame); /* NULL is fine */
/* Gives the frame new reads and no values, for the next iteration. */
void flow_frame_renew(flow_frame *frame);
/* Is v a weight or the value of a Constant? */
bool flow_is_constant(const pgy_value *v);
/* Reads v; *out is borrowed, and empty if v is NULL. */
pgy_status flow_fetch(op_tensor *out, flow *f, flow_frame *from, pgy_value *v,
                      pgy_error *err) PGY_MUST_CHECK;
/* Notes the sizes of all that n and its subgraphs read, for loops that run no iteration. */
pgy_status flow_note_sizes(flow *f, flow_frame *frame, const pgy_node *n,
                           pgy_error *err) PGY_MUST_CHECK;
/* Moves t into the frame, or releases it if nothing reads v. */
void flow_store(const flow *f, flow_frame *frame, const pgy_value *v, op_tensor *t);
/* Drops `times` reads. */
void flow_use_up(const flow *f, flow_frame *frame, const pgy_value *v, uint32_t times);
/* Turns a value into its declared type. */
pgy_status flow_settle(op_tensor *t, pgy_error *err) PGY_MUST_CHECK;

/* Memory of the caller for v, if it is an output of the graph; else NULL. */
void *flow_room(void *f, const pgy_value *v, pgy_dtype dtype, size_t rank, const int64_t *shape);
/* Takes the places of the step's results, if the node that runs is the step. */
const flow_place *flow_take_places(flow *f);
/* Shortens the path to `size` characters. */
void flow_path_cut(flow *f, size_t size);

/* ---- flow_cut.c ---- */
/* A value that enters or leaves a cut. */
typedef struct flow_port {
    pgy_value *value; /* in the graph of the flow */
    uint32_t times;   /* of an input: reads of it; of an output: reads inside */
    uint32_t like;    /* of an output: FLOW_MADE, or it has the elements of ... */
    bool of_output;   /* ... this output instead of this input */
} flow_port;
#define FLOW_MADE UINT32_MAX

/* Makes a graph of nodes [first, end) of a level, with inputs and outputs as listed. */
typedef struct flow_cut {
    pgy_graph *graph; /* inputs and outputs in the order of the ports, without outputs that have the
                         elements of another value */
    flow_port *inputs, *outputs;
    size_t input_count, output_count;
    arena memory;
} flow_cut;
pgy_status flow_cut_make(flow_cut *out, const flow *f, const flow_level *level, size_t first,
                         size_t end, pgy_error *err) PGY_MUST_CHECK;
void flow_cut_deinit(flow_cut *c);

/* ---- flow_split.c ---- */
/* Type and shape of a value. */
typedef struct flow_form {
    pgy_dtype dtype;
    size_t rank;
    int64_t shape[PGY_MAX_RANK];
} flow_form;

/* A program for certain inputs. */
typedef struct flow_variant {
    int64_t *key;
    size_t key_length;
    program *program; /* NULL: nodes run one by one for these inputs */
    program_context *run;
    void *memory;     /* that `run` was placed in */
    flow_form *forms; /* indexed by output; NULL: the program makes all of them */
    uint64_t used;
} flow_variant;

typedef struct flow_segment {
    struct flow_segment *next;
    flow_cut cut;
    pgy_build_config config;
    bool *by_value; /* indexed by input: programs depend on its elements */
    bool any_value; /* one of them does */
    bool in_body;
    flow_variant *variants;
    uint64_t *hashes; /* indexed like them: of their keys */
    size_t variant_count, variant_capacity, hash_capacity, most_variants;
    size_t last; /* the variant of the last run */
    uint64_t clock, hits, misses;
    range *range;
    bool no_range;
    pgy_metadata *sample; /* inputs of an earlier variant */
    /* of the run, indexed by port */
    op_tensor *in, *made;
    const void **inputs;
    void **outputs;
    int64_t *key; /* room for the key of a run */
    size_t key_room;
} flow_segment;

/* Finds the segment that begins with node `first`; *out NULL: the node runs alone. `values`: its
 * shapes may depend on elements of its inputs. */
pgy_status flow_segment_find(flow_segment **out, size_t *end, flow *f, flow_frame *frame,
                             size_t first, bool values, pgy_error *err) PGY_MUST_CHECK;
/* Infers a graph with inputs like these; elements count where by_value (may be NULL) says so. */
pgy_status flow_infer(pgy_graph *g, const op_tensor *inputs, const bool *by_value,
                      pgy_error *err) PGY_MUST_CHECK;
pgy_status flow_describe(pgy_metadata **out, const pgy_graph *g, const op_tensor *inputs,
                         pgy_error *err) PGY_MUST_CHECK;
/* Reads an input of a segment in its declared type; *fits false: it is no numeric tensor. */
pgy_status flow_take(op_tensor *out, bool *fits, flow *f, flow_frame *frame, pgy_value *v,
                     pgy_error *err) PGY_MUST_CHECK;

/* ---- flow_segment.c ---- */
void flow_segments_destroy(flow *f);
/* Runs a segment; *done false: its nodes must run one by one for these inputs. *values false: its
 * inputs' elements change too often for programs, so it must be found again without them. */
pgy_status flow_segment_run(bool *done, bool *split, flow_segment *s, flow *f, flow_frame *frame,
                            pgy_error *err) PGY_MUST_CHECK;

/* ---- flow_control.c, flow_loop.c ---- */
/* op_host.run_graph: runs a body on values in any type; results are in storage types. */
pgy_status flow_run_graph(void *graph, const op_tensor *inputs, size_t input_count,
                          op_tensor *outputs, size_t output_count, void *user,
                          pgy_error *err) PGY_MUST_CHECK;
pgy_status flow_describe_graph(void *graph, const op_value *inputs, size_t input_count,
                               op_value *outputs, size_t output_count, void *user,
                               pgy_error *err) PGY_MUST_CHECK;
/* Runs a node with subgraphs, or a function, on frame->in; its results are in frame->out. */
pgy_status flow_control_run(flow *f, flow_frame *frame, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Can these run here? Text, and elements of less than a byte, need the definition. */
bool flow_loop_can(const pgy_node *n);
bool flow_scan_can(const pgy_node *n);
pgy_status flow_loop_run(flow *f, flow_frame *frame, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
pgy_status flow_scan_run(flow *f, flow_frame *frame, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;

#endif
