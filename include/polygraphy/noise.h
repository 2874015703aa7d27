/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Rounding and range of the tensors in a model: the error that the number formats must cause, the
 * operation that made the first NaN or infinity, and the distance to overflow.
 *
 *     pgy_floor *noise = NULL;
 *     const pgy_floor_options o = {.size = sizeof o, .assume = PGY_F16};
 *     pgy_floor_verdict v;
 *     if (pgy_floor_create(&noise, model, &o, &err)) ...
 *     if (pgy_floor_add(noise, feed, &err)) ...
 *     if (pgy_floor_judge(&v, noise, "logits", pgy_tensor_view(a), pgy_tensor_view(b), &err)) ...
 *     printf("%.1f times what float16 must cost here\n", v.times);
 *     pgy_floor_destroy(noise);
 *
 * All functions run the model by the operators' definitions in float64, node by node, and release
 * each value after its last use. docs/where_noise.md explains the error model.
 *
 * Tensors of a subgraph have paths such as "loop_3/x": the name of the node that owns the subgraph,
 * then the tensor. A path with an iteration is "loop_3/iter_12/x"; a tensor in a local function is
 * "call_name/x".
 */
#ifndef POLYGRAPHY_NOISE_H
#define POLYGRAPHY_NOISE_H

#include <polygraphy/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Noise floor ---------------------------------------------------------------------------- */

typedef struct pgy_floor pgy_floor;

typedef struct pgy_floor_options {
    size_t size;        /**< sizeof(pgy_floor_options) */
    pgy_dtype assume;   /**< float type that replaces float32 and float64 of the model, e.g. PGY_F16;
                           NONE: the types that the model declares */
    pgy_dtype sums;     /**< type in which sums and functions are computed; NONE: float32, or float64
                           for tensors of float64 */
    uint32_t draws;     /**< samples of the rounding errors per sample of data; 0: 16 */
    uint64_t seed;      /**< equal seeds give equal floors */
    uint64_t max_bytes; /**< limit for the values of all draws that are alive at once; fewer draws
                           then run together, at least one. 0: a quarter of the memory limit */
    uint64_t max_steps; /**< limit of the nodes that one run may compute, nodes in loops counted
                           each time; 0: 1 million */
    bool own;           /**< the error of each node alone: it reads exact operands. Nodes in
                           subgraphs read the draws of the nodes before them even so */
} pgy_floor_options;

/** The error that rounding causes in one tensor, over all draws and samples of data. Tensors of
 * integers are listed if rounding changes them, such as quantized ones, which it moves by a step.
 */
typedef struct pgy_floor_tensor {
    const char *name;    /**< path of the tensor */
    const char *node;    /**< node that computes it; its first output's name if it has none */
    const char *op_type; /**< operator of that node */
    pgy_dtype dtype;     /**< type that the floor assumes for the tensor */
    uint64_t count;      /**< elements compared, over draws and samples */
    double max_abs;      /**< largest error; infinite if a draw overflows where float64 does not */
    double rms;          /**< root of the mean square of the finite errors */
    double value_rms;    /**< root of the mean square of the values */
    double value_max;    /**< largest magnitude of the values */
    uint64_t overflows;  /**< elements that overflow or become NaN in a draw, but not in float64 */
    const char *unknown_why; /**< NULL, or why the tensor has no floor */
} pgy_floor_tensor;

/** The difference of a tensor between two runs, in units of its floor. */
typedef struct pgy_floor_verdict {
    double times;     /**< the larger of the two ratios below; NaN if there is no floor */
    double times_max; /**< largest difference / max_abs */
    double times_rms; /**< RMS of the differences / rms */
    double max_abs;   /**< largest difference; infinite if only one side is infinite or NaN */
    double rms;
    const char *unknown_why; /**< why there is no floor, or NULL; owned by the floor */
} pgy_floor_verdict;

/** Prepares a model. @param options NULL for the defaults
 * @return PGY_E_UNSUPPORTED naming operators that the reference lacks; PGY_E_ARGUMENT for an option
 */
PGY_API PGY_MUST_CHECK pgy_status pgy_floor_create(pgy_floor **out, pgy_model *model,
                                                   const pgy_floor_options *options,
                                                   pgy_error *err);
PGY_API void pgy_floor_destroy(pgy_floor *f); /**< NULL is fine */
/** Runs all draws for one sample of data, and merges the errors with those of earlier samples. After
 * a failure the floor keeps only the earlier samples' errors if it returned before the first draw;
 * otherwise destroy it. @param feed one tensor per input of the model, in its type */
PGY_API PGY_MUST_CHECK pgy_status pgy_floor_add(pgy_floor *f, const pgy_tensor_map *feed,
                                                pgy_error *err);
PGY_API size_t pgy_floor_count(const pgy_floor *f);
/** Tensors in the order of their first computation. */
PGY_API const pgy_floor_tensor *pgy_floor_at(const pgy_floor *f, size_t i);
/** Finds a tensor by path; iterations in the path are left out. NULL: not found */
PGY_API const pgy_floor_tensor *pgy_floor_find(const pgy_floor *f, const char *name);
/** Measures the difference of two values of a tensor against its floor.
 * @param a, b  equal shapes, any numeric types
 * @return PGY_E_NOT_FOUND for a name without entry; PGY_E_SHAPE for different shapes */
PGY_API PGY_MUST_CHECK pgy_status pgy_floor_judge(pgy_floor_verdict *out, const pgy_floor *f,
                                                  const char *name, pgy_view a, pgy_view b,
                                                  pgy_error *err);

/* ---- Origin of NaN and infinity ------------------------------------------------------------- */

typedef struct pgy_nan_search pgy_nan_search;

typedef struct pgy_nan_options {
    size_t size;          /**< sizeof(pgy_nan_options) */
    bool model_precision; /**< round every tensor to its declared type, so that float16 overflows;
                             else compute in float64 */
    pgy_dtype assume;     /**< with model_precision: float type that replaces float32 and float64;
                             NONE: the declared types */
    size_t max_origins;   /**< origins to keep; 0: 16 */
    uint64_t max_steps;   /**< as pgy_floor_options.max_steps */
} pgy_nan_options;

/** An operand of an operation at the place where it made a NaN or infinity. */
typedef struct pgy_nan_operand {
    const char *name;  /**< name of the tensor; "" for an omitted input */
    pgy_dtype dtype;   /**< NONE: an omitted input or no tensor */
    int32_t rank;
    const int64_t *shape;
    bool has_value;    /**< an element corresponds to the output's element by broadcasting */
    double value;      /**< that element */
    double low, high;  /**< range of the tensor */
} pgy_nan_operand;

/** An operation that made a NaN or infinity out of finite operands. */
typedef struct pgy_nan_origin {
    const char *name;    /**< path of the output, with iterations: "loop_3/iter_12/x" */
    const char *node;    /**< node, or its first output's name if it has none */
    const char *op_type;
    pgy_dtype dtype;     /**< type of the output */
    int32_t rank;
    const int64_t *shape;
    const int64_t *index; /**< first such element: `rank` numbers */
    double value;         /**< NaN, inf or -inf */
    uint64_t nan_count, inf_count, count; /**< elements of the output: NaN, infinite, all */
    size_t sample;        /**< number of the pgy_nan_add call, from 0 */
    bool from_input;      /**< a graph input or weight holds it; no operation made it */
    const pgy_nan_operand *operands;
    size_t operand_count;
} pgy_nan_origin;

/** @param options NULL for the defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_nan_create(pgy_nan_search **out, pgy_model *model,
                                                 const pgy_nan_options *options, pgy_error *err);
PGY_API void pgy_nan_destroy(pgy_nan_search *s); /**< NULL is fine */
/** Runs one sample of data and adds its origins, in the order of execution. */
PGY_API PGY_MUST_CHECK pgy_status pgy_nan_add(pgy_nan_search *s, const pgy_tensor_map *feed,
                                              pgy_error *err);
PGY_API size_t pgy_nan_count(const pgy_nan_search *s); /**< origins kept */
PGY_API const pgy_nan_origin *pgy_nan_at(const pgy_nan_search *s, size_t i);
/** Number of origins found, also those beyond max_origins. */
PGY_API uint64_t pgy_nan_total(const pgy_nan_search *s);
/** Number of tensors that were checked, repeated ones in loops counted each time. */
PGY_API uint64_t pgy_nan_checked(const pgy_nan_search *s);

/* ---- Headroom ------------------------------------------------------------------------------- */

typedef struct pgy_headroom pgy_headroom;

/** Formats that headroom is measured for, in the order of pgy_headroom_tensor.fits. */
enum { PGY_HEADROOM_FORMATS = 4 };
/** @return float16, bfloat16, float8e4m3fn, float8e5m2; NONE beyond */
PGY_API pgy_dtype pgy_headroom_format(size_t i);

typedef struct pgy_headroom_fit {
    double bits;         /**< log2(largest finite value / max_abs); negative: overflows; infinite for
                            a tensor of zeros */
    uint64_t overflows;  /**< elements that round to infinity, or to NaN where there is none */
    uint64_t subnormals; /**< elements that round to a subnormal, which has fewer digits */
    uint64_t underflows; /**< elements other than 0 that round to 0 */
} pgy_headroom_fit;

typedef struct pgy_headroom_tensor {
    const char *name;    /**< path */
    const char *node;    /**< node that computes it; "" for an input or weight */
    const char *op_type; /**< "" for an input or weight */
    pgy_dtype dtype;     /**< declared type */
    uint64_t count;      /**< elements, over all samples and iterations */
    uint64_t non_finite; /**< NaN and infinite elements, which the rest leaves out */
    double max_abs;      /**< largest magnitude */
    double min_abs;      /**< smallest magnitude other than 0; 0: there is none */
    pgy_headroom_fit fits[PGY_HEADROOM_FORMATS];
} pgy_headroom_tensor;

PGY_API PGY_MUST_CHECK pgy_status pgy_headroom_create(pgy_headroom **out, pgy_model *model,
                                                      pgy_error *err);
/** As pgy_floor_options.max_steps. */
PGY_API void pgy_headroom_set_max_steps(pgy_headroom *h, uint64_t max_steps);
PGY_API void pgy_headroom_destroy(pgy_headroom *h); /**< NULL is fine */
/** Runs one sample of data in float64 and adds the float tensors' ranges. */
PGY_API PGY_MUST_CHECK pgy_status pgy_headroom_add(pgy_headroom *h, const pgy_tensor_map *feed,
                                                   pgy_error *err);
PGY_API size_t pgy_headroom_count(const pgy_headroom *h);
PGY_API const pgy_headroom_tensor *pgy_headroom_at(const pgy_headroom *h, size_t i);

/* ---- Reports -------------------------------------------------------------------------------- */

typedef struct pgy_noise_report_options {
    size_t size;       /**< sizeof(pgy_noise_report_options) */
    const char *model; /**< name of the model in the report; NULL: "model" */
    size_t max_rows;   /**< text: rows of a table; 0: 20; SIZE_MAX: all */
    const char *more;  /**< text: appended to "... 12 more", e.g. ", see --all"; NULL: nothing */
} pgy_noise_report_options;

/** What pgy_noise_text and pgy_noise_save_json report; members that are NULL are left out. */
typedef struct pgy_noise_reports {
    size_t size; /**< sizeof(pgy_noise_reports) */
    const pgy_floor *floor;
    const pgy_nan_search *nan;
    const pgy_headroom *headroom;
} pgy_noise_reports;

/** Writes reports for the screen. Free with pgy_text_free. @param options NULL for the defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_noise_text(char **out, const pgy_noise_reports *reports,
                                                 const pgy_noise_report_options *options,
                                                 pgy_error *err);
/** Writes reports as JSON. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_noise_json(char **out, const pgy_noise_reports *reports,
                                                 const pgy_noise_report_options *options,
                                                 pgy_error *err);
/** Saves the JSON; the file appears whole or not at all. */
PGY_API PGY_MUST_CHECK pgy_status pgy_noise_save_json(const char *path,
                                                      const pgy_noise_reports *reports,
                                                      const pgy_noise_report_options *options,
                                                      pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
