/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the precision search share: samples.c reads the samples, layers.c lists the
 * layers; times.c, borders.c and cost.c say what they cost, mix.c and mix_fill.c join an 8-bit and a
 * 16-bit type, emulate.c runs a set of narrow layers, judge.c measures its error, trials.c uses all
 * of these for one set, search.c, rank.c and take_back.c search, typed.c makes and checks the model;
 * quant.h has what 8-bit types need. */
#ifndef PRECISION_PRECISION_H
#define PRECISION_PRECISION_H

#include <polygraphy/noise.h>
#include <polygraphy/precision.h>

#include "base/json.h"
#include "data/python.h"
#include "graph/graph.h"

typedef struct emulator emulator;
struct quantizer;

/* The type of a layer in a set, which has one for each layer. */
typedef unsigned char level;
enum {
    LEVEL_WIDE,  /* float32 */
    LEVEL_FIRST, /* options.type */
    LEVEL_REST,  /* in a mix: options.rest_type */
    LEVELS
};

/* Times of layers, with PGY_PRECISION_TIME; see times.c. */
typedef struct layer_times {
    double *ms[LEVELS]; /* for each layer: its time at this level; 0: it cannot have it */
    double other_ms;    /* of what belongs to no layer, in float32 */
    /* Of a Cast or QuantizeLinear at the border of layers at this level, per byte of the float32
     * side. */
    double cast_ms_per_byte[LEVELS];
    uint64_t *input_bytes; /* for each input of the graph that is float32 */
} layer_times;

struct pgy_precision {
    pgy_precision_options options;
    pgy_graph *graph; /* the model with unique node names */
    pgy_tensor_map **samples, **references;
    pgy_precision_layer *layers;
    size_t *nodes;    /* for each layer: the index of its node in graph->nodes */
    size_t *layer_of; /* for each node: its layer, or SIZE_MAX */
    layer_times times;
    level *best;    /* for each layer: its type in the best set */
    bool *can_rest; /* in a mix, for each layer: can it have options.rest_type? Else NULL */
    /* For each node, from the first run: bytes of its float32 weights and outputs; outputs only. */
    uint64_t *node_bytes, *node_output_bytes;
    level *sites; /* in a mix, for each site of the quantizer: room for the set that it sees */
    pgy_precision_summary summary;
    pgy_precision_point *points;
    size_t point_count, point_room;
    emulator *emulator;
    python_script *script;       /* of the criterion; NULL: another criterion */
    pgy_floor *floor;            /* of all layers in the type; NULL: another criterion */
    struct quantizer *quantizer; /* NULL: the type of the search has 16 bits */
    pgy_precision_method *methods;
    size_t method_count;
    pgy_precision_baseline baselines[2];
    size_t baseline_count;
};

/* Number of samples that are not held out. */
static inline size_t search_count(const pgy_precision *p)
{
    return p->summary.samples - p->summary.held_out;
}

static inline pgy_status search_no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while searching for precisions");
}

/* ---- samples.c ------------------------------------------------------------------------------- */
pgy_status samples_read(pgy_precision *p, pgy_data_loader *data, pgy_error *err) PGY_MUST_CHECK;

/* A copy of the model with the shapes of the samples: without them, a runtime that builds plans
 * would make one for dimensions of 1. If the samples differ, the shapes stay dynamic. */
pgy_status samples_fix_shapes(pgy_model **out, const pgy_precision *p, pgy_model *model,
                              pgy_error *err) PGY_MUST_CHECK;

/* ---- layers.c -------------------------------------------------------------------------------- */
/* Imports the model, inlines functions, gives every node a name of its own, and lists the layers
 * that the conversion to 16 bits can change. */
pgy_status layers_find(pgy_precision *p, pgy_model *model, pgy_error *err) PGY_MUST_CHECK;
/* Sets is[i] for each node that the conversion to a 16-bit type changes. */
pgy_status layers_half(bool *is, const pgy_precision *p, pgy_dtype type,
                       pgy_error *err) PGY_MUST_CHECK;
/* Makes the graph in which all layers that can have a narrow type have it. */
pgy_status layers_convert_all(pgy_graph **out, const pgy_precision *p, level to,
                              pgy_error *err) PGY_MUST_CHECK;
/* Makes the graph in which all layers but those that `keep` names have a 16-bit type. */
pgy_status layers_convert(pgy_graph **out, const pgy_precision *p, pgy_dtype type,
                          const char *const *keep, size_t count, pgy_error *err) PGY_MUST_CHECK;
/* Finds the costs, which need the shapes of a run: bytes of each node's weights and outputs. */
void layers_set_cost(pgy_precision *p);
uint64_t layers_bytes(const pgy_precision *p, const level *set);

/* ---- emulate.c ------------------------------------------------------------------------------- */
pgy_status emulator_create(emulator **out, pgy_precision *p, pgy_error *err) PGY_MUST_CHECK;
void emulator_destroy(emulator *e);
/* Where runtimes round. A runtime that fuses layers, or whose 16-bit kernels are casts around
 * float32 ones, keeps the tensors between them in float32. Either may have the larger error. */
typedef enum emulation {
    EMULATE_STORED, /* what a 16-bit layer reads and writes is rounded */
    EMULATE_FUSED,  /* only weights are */
    EMULATIONS
} emulation;
/* Runs a sample. `set` has an entry for each layer; NULL: all are wide. keep: the values of
 * this run replace those that later runs of this emulation reuse. */
pgy_status emulator_run(pgy_tensor_map **out, emulator *e, size_t sample, const level *set,
                        emulation as, bool keep, pgy_error *err) PGY_MUST_CHECK;
/* Changes what narrow layers are, and which nodes the layers of a set. `q`: for 8-bit types, else
 * NULL; its fit must not change until the next call. `nodes` and `q` are borrowed. In a mix, `type`
 * is that of LEVEL_FIRST. */
pgy_status emulator_set_type(emulator *e, pgy_dtype type, const struct quantizer *q,
                             const size_t *nodes, size_t layers, pgy_error *err) PGY_MUST_CHECK;
/* Called with what each node of the main graph is about to read, also if its results are reused. */
typedef pgy_status emulator_seen(pgy_node *n, size_t sample, const op_tensor *inputs, void *user,
                                 pgy_error *err);
void emulator_watch(emulator *e, emulator_seen *seen, void *user); /* seen NULL: nothing */
/* For each node: the bytes of its float32 weights and outputs in the last run that kept values. */
const uint64_t *emulator_bytes(const emulator *e);
const uint64_t *emulator_output_bytes(const emulator *e); /* outputs only */

/* ---- judge.c --------------------------------------------------------------------------------- */
/* Error so far of a set; add samples one by one. */
typedef struct judge {
    const pgy_precision *p;
    double worst;
    uint64_t rows, wrong; /* top-k */
} judge;
pgy_status judge_options(const pgy_precision_options *o, pgy_error *err) PGY_MUST_CHECK;
/* Sends samples and references to the script, or measures the noise floor. */
pgy_status judge_prepare(pgy_precision *p, pgy_error *err) PGY_MUST_CHECK;
pgy_status judge_add(judge *j, size_t sample, const pgy_tensor_map *got,
                     pgy_error *err) PGY_MUST_CHECK;
pgy_status judge_finish(double *error, const judge *j, pgy_error *err) PGY_MUST_CHECK;
/* The largest error that passes. */
double judge_limit(const pgy_precision_options *o);
/* Refuses references that cannot be judged: NaN, infinities, types that are not numbers. */
pgy_status judge_reference(const pgy_tensor_map *reference, pgy_error *err) PGY_MUST_CHECK;

/* ---- borders.c ------------------------------------------------------------------------------- */
/* The bytes of float32 tensors at the borders of layers at level `of`, where the model needs a Cast
 * or QuantizeLinear. */
uint64_t border_bytes(const pgy_precision *p, const level *set, level of);

/* ---- times.c --------------------------------------------------------------------------------- */
/* Measures the times of the layers, or reads options.times. */
pgy_status times_prepare(pgy_precision *p, pgy_error *err) PGY_MUST_CHECK;
pgy_status times_create(pgy_precision *p, pgy_error *err) PGY_MUST_CHECK; /* all 0 */
void times_deinit(layer_times *t);
pgy_status times_parse(pgy_precision *p, span text, const char *path,
                       pgy_error *err) PGY_MUST_CHECK;
pgy_status times_write(json_writer *w, const void *precision, pgy_error *err) PGY_MUST_CHECK;

/* ---- cost.c ---------------------------------------------------------------------------------- */
/* After the first run: finds what the layers cost, in bytes and, if asked for, in time. */
pgy_status cost_prepare(pgy_precision *p, pgy_error *err) PGY_MUST_CHECK;
/* Costs are bytes or ms, as options.cost says. */
double cost_of(const pgy_precision *p, const level *set);
double cost_of_point(const pgy_precision *p, const pgy_precision_point *point);
double cost_saved(const pgy_precision *p, size_t layer, level to); /* by giving it a type */
double cost_ms(const pgy_precision *p, const level *set);          /* 0 without times */
/* Gives layers of the set a wider type as long as that makes it cheaper. */
pgy_status cost_improve(bool *changed, const pgy_precision *p, level *set,
                        pgy_error *err) PGY_MUST_CHECK;

/* ---- mix.c ----------------------------------------------------------------------------------- */
static inline bool is_mix(const pgy_precision *p)
{
    return p->can_rest != NULL;
}
static inline level last_level(const pgy_precision *p)
{
    return is_mix(p) ? LEVEL_REST : LEVEL_FIRST;
}
/* Can a layer have this type? */
bool mix_can(const pgy_precision *p, size_t layer, level to);
/* The level that a layer goes back to. */
level mix_below(const pgy_precision *p, size_t layer, level from);
pgy_dtype mix_type(const pgy_precision *p, level of);
/* The level of a node; LEVEL_WIDE: it is no layer, or NULL. */
level mix_level(const pgy_precision *p, const level *set, const pgy_node *n);
uint64_t mix_bytes(const pgy_precision *p, const level *set);

/* ---- mix_fill.c ------------------------------------------------------------------------------ */
/* Gives float32 layers of the set 16 bits where that makes it cheaper: it does not for what lies
 * between 8-bit layers. added[i]: is layer i one of them? Returns their number. */
size_t mix_fill(const pgy_precision *p, level *set, bool *added);
/* Finds the layers that are float32 only because they lie between 8-bit ones; `set` is as before.
 */
void mix_find_between(const pgy_precision *p, level *set, bool *between);
/* After an 8-bit layer went back: gives 16 bits to those of `between` where that makes the set
 * cheaper now, and takes them out of `between`. */
void mix_fill_between(const pgy_precision *p, level *set, bool *between);

/* ---- trials.c -------------------------------------------------------------------------------- */
size_t trial_count(const pgy_precision *p, const level *set); /* of layers that are not float32 */
size_t trial_count_at(const pgy_precision *p, const level *set, level at);
/* The error of a set on samples first to last - 1. keep: its values are those that later trials
 * reuse. */
pgy_status trial_measure(double *error, const pgy_precision *p, const level *set, size_t first,
                         size_t last, bool keep, pgy_error *err) PGY_MUST_CHECK;
/* Measures a set on the samples of the search, for the table of sets. */
pgy_status trial_run(double *error, pgy_precision *p, const level *set,
                     pgy_error *err) PGY_MUST_CHECK;
bool trial_passes(const pgy_precision *p, double error);

/* ---- search.c -------------------------------------------------------------------------------- */
pgy_status search_run(pgy_precision *p, pgy_error *err) PGY_MUST_CHECK;

/* ---- take_back.c ----------------------------------------------------------------------------- */
/* The typed model has an error in a runtime that the emulation did not promise: takes back the most
 * sensitive layers until the promise is less by the same factor. */
pgy_status search_tighten(pgy_precision *p, double error, const char *runtime,
                          pgy_error *err) PGY_MUST_CHECK;

#endif
