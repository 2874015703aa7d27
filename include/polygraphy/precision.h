/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Precision search: finds the layers of a model that may compute in a type of 16 or 8 bits, and
 * makes the model in which they do.
 *
 *     pgy_precision_options o = pgy_precision_options_default();
 *     o.criterion = PGY_PRECISION_SNR;
 *     o.limit = 50;
 *     pgy_precision *p = NULL;
 *     pgy_status st = pgy_precision_search(&p, model, data, &o, &err);
 *     const pgy_backend *const in[] = {pgy_backend_find("onnxrt")};
 *     if (!st) st = pgy_precision_settle(&typed, p, in, 1, &err);
 *     pgy_precision_destroy(p);
 *
 * Trials are emulated: no engine is built. Layers run in float32, and the inputs, weights and
 * outputs of each 16-bit layer are rounded to its type; of an 8-bit layer, the inputs and weights
 * pass through quantize and dequantize. A layer runs again only if its type or one
 * of its inputs changed since the last accepted set. docs/precision.md describes the search.
 */
#ifndef POLYGRAPHY_PRECISION_H
#define POLYGRAPHY_PRECISION_H

#include <polygraphy/build_config.h>
#include <polygraphy/data.h>
#include <polygraphy/onnx.h>
#include <polygraphy/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_precision pgy_precision;

/** How the error of a set of narrow layers is judged; the worst sample and output count. */
typedef enum pgy_precision_criterion {
    PGY_PRECISION_TOLERANCE, /**< largest absolute difference, at most `limit` */
    PGY_PRECISION_SNR,       /**< signal-to-noise ratio in dB, at least `limit`; the error is noise
                                divided       by signal */
    PGY_PRECISION_TOP_K,     /**< share of rows (last axis) of all samples whose largest element is
                                among the `k` largest, at least `limit`; the error is the other share */
    PGY_PRECISION_FLOOR, /**< how many times the error that `type` must cause if all layers have it,
                            at most `limit` (polygraphy/noise.h) */
    PGY_PRECISION_SCRIPT /**< number that a function of `script` gives for all samples of a set, at
                            most `limit` */
} pgy_precision_criterion;

/** What the search makes small, as far as the criterion allows. */
typedef enum pgy_precision_cost {
    PGY_PRECISION_BYTES, /**< bytes of weights and outputs of the layers */
    PGY_PRECISION_TIME   /**< time of the layers, and of the Casts or QuantizeLinears between them,
                            in the built-in engine */
} pgy_precision_cost;

/** What is tried before a search for 8-bit layers: with all layers, and kept if the error is less.
 */
typedef enum pgy_precision_tries {
    PGY_PRECISION_TRY_CALIBRATORS = 1,
    PGY_PRECISION_TRY_SMOOTHING = 2, /**< with the strengths 0.25, 0.5 and 0.75 */
    PGY_PRECISION_TRY_ROUNDING = 4,
    PGY_PRECISION_TRY_BIAS_CORRECTION = 8,
    PGY_PRECISION_TRY_ALL = 15
} pgy_precision_tries;

typedef struct pgy_precision_options {
    size_t size;    /**< sizeof(pgy_precision_options) */
    pgy_dtype type; /**< PGY_F16, PGY_BF16, PGY_I8 or PGY_F8E4M3FN */
    pgy_precision_criterion criterion;
    double limit;
    int64_t k;          /**< PGY_PRECISION_TOP_K: at least 1 */
    int64_t samples;    /**< number of samples to read from the data, at least 1 */
    uint64_t max_bytes; /**< memory for kept values and rounded weights */
    const char *script; /**< PGY_PRECISION_SCRIPT: "file.py" or "file.py:function" (default
                           measure_error). The function gets a list of samples, each with index,
                           inputs, reference and result, and gives the error as a number */
    pgy_precision_cost cost;
    const char *times; /**< PGY_PRECISION_TIME: file of pgy_precision_save_times, also one of
                          another machine; NULL: the engine is built in each type and measured */
    /* How 8-bit types get their numbers. Tensors have one scale, weights one for each output
     * channel. */
    pgy_calibrator calibrator; /**< chooses the range of a tensor from the samples */
    double quantile; /**< of PGY_CALIBRATOR_LEGACY, which takes the quantile alone; above 0, to 1 */
    double smooth;   /**< 0: none; to 1: how much of the spread of channels moves into weights */
    bool asymmetric; /**< int8: tensors have zero points, so that 8 bits cover exactly their range;
                        TensorRT does not take them */
    bool adaptive_rounding; /**< weights are rounded so that layers compute less error */
    bool bias_correction;   /**< biases take back what layers lose on average */
    unsigned tries;         /**< pgy_precision_tries: what to try besides, a sum */
    pgy_dtype rest_type;    /**< with an 8-bit type: PGY_F16 or PGY_BF16 for layers that cannot have
                               8 bits, for a mix of both types; NONE: they stay float32 */
} pgy_precision_options;
/** float16, an absolute difference of 0.001, 16 samples, 1 GiB; PGY_CALIBRATOR_LEAST_ERROR, a
 * quantile of 0.9999. */
PGY_API pgy_precision_options pgy_precision_options_default(void);

typedef struct pgy_precision_layer {
    const char *name, *op_type; /**< the name is that of the node in the written model */
    double error;               /**< error if only this layer has `options.type`; negative: was not
                                   measured */
    uint64_t saved_bytes; /**< bytes of weights and outputs that a 16-bit type saves; of an 8-bit
                             type: of weights, and of inputs that nothing else reads */
    bool narrow;          /**< the best set contains it */
    double saved_ms;      /**< time that `options.type` saves; 0 without PGY_PRECISION_TIME */
    pgy_dtype type;       /**< in the best set; PGY_F32: is not narrow */
    double rest_error;    /**< in a mix: error if only this layer has `options.rest_type` */
    uint64_t rest_saved_bytes; /**< in a mix: bytes that `options.rest_type` saves */
    double rest_saved_ms;      /**< in a mix: the same as time; 0 without PGY_PRECISION_TIME */
} pgy_precision_layer;

/** A measured set that no other measured set beats in both cost and error. */
typedef struct pgy_precision_point {
    uint64_t bytes; /**< weights and outputs of all layers */
    double error;   /**< on the samples of the search */
    size_t narrow;  /**< number of narrow layers */
    double ms;      /**< of all layers and Casts; 0 without PGY_PRECISION_TIME */
    size_t rest;    /**< how many of the narrow layers have `options.rest_type` */
} pgy_precision_point;

/** A method of quantizing, measured with all layers in the 8-bit type. */
typedef struct pgy_precision_method {
    char name[32]; /**< "plain", "calibrator mse", "smoothing 0.5", "adaptive rounding"... */
    double error;  /**< on the samples of the search, by the criterion */
    double noise;  /**< noise divided by signal, of the worst output and sample */
    bool kept;     /**< is in use for the search */
} pgy_precision_method;

/** All layers in one type, to compare with; int8 by the plain method: the whole range of each
 * tensor, weights rounded to nearest. */
typedef struct pgy_precision_baseline {
    pgy_dtype type; /**< PGY_F16 or PGY_I8 */
    double error;   /**< on the samples of the search */
    uint64_t bytes; /**< as in pgy_precision_point */
    size_t layers;
} pgy_precision_baseline;

typedef struct pgy_precision_summary {
    size_t layers, narrow; /**< layers that can be narrow; those that are in the best set */
    size_t fixed;          /**< nodes that stay float32 in every set */
    size_t samples, held_out;
    size_t trials;
    double seconds;
    double error;          /**< of the best set, on the samples of the search */
    double held_out_error; /**< of the best set on the held-out samples; negative: there are none,
                              or the search was interrupted */
    double promised_error; /**< of the best set on all samples */
    double limit_error;    /**< largest error that passes */
    uint64_t bytes, wide_bytes; /**< cost of the best set, and of the model as it is */
    bool interrupted;           /**< the best set so far */
    double ms, wide_ms;         /**< the same as time; 0 without PGY_PRECISION_TIME */
    size_t rest;                /**< how many of the narrow layers have `options.rest_type` */
} pgy_precision_summary;

/** Runs the search. A quarter of the samples is held out: the set found must pass on them, too, or
 * loses its most sensitive layers until it does.
 * @param model   borrowed for this call; weights stay in use until *out is destroyed
 * @param data    gives the samples; borrowed for this call
 * @return PGY_E_CANCELLED after an interrupt; then *out has the best set so far, or is NULL */
PGY_API PGY_MUST_CHECK pgy_status pgy_precision_search(pgy_precision **out, pgy_model *model,
                                                       pgy_data_loader *data,
                                                       const pgy_precision_options *options,
                                                       pgy_error *err);
PGY_API void pgy_precision_destroy(pgy_precision *p); /**< NULL is fine */
PGY_API const pgy_precision_summary *pgy_precision_summarize(const pgy_precision *p);
PGY_API size_t pgy_precision_layer_count(const pgy_precision *p);
PGY_API const pgy_precision_layer *pgy_precision_layer_at(const pgy_precision *p, size_t i);
/** The points of the Pareto table, from the lowest cost on. */
PGY_API size_t pgy_precision_point_count(const pgy_precision *p);
PGY_API const pgy_precision_point *pgy_precision_point_at(const pgy_precision *p, size_t i);

/** Saves the times of the layers as JSON, for pgy_precision_options.times. */
PGY_API PGY_MUST_CHECK pgy_status pgy_precision_save_times(const pgy_precision *p, const char *path,
                                                           pgy_error *err);

/** The methods that a search for 8-bit layers measured, in order; "plain" is the first. */
PGY_API size_t pgy_precision_method_count(const pgy_precision *p);
PGY_API const pgy_precision_method *pgy_precision_method_at(const pgy_precision *p, size_t i);
/** float16 and int8, as far as the model has layers for them; none after an interrupt. */
PGY_API size_t pgy_precision_baseline_count(const pgy_precision *p);
PGY_API const pgy_precision_baseline *pgy_precision_baseline_at(const pgy_precision *p, size_t i);
/** "entropy2", "entropy", "minmax", "percentile" or "mse"; NULL: there is no such calibrator. */
PGY_API const char *pgy_precision_calibrator_name(pgy_calibrator kind);

/** Makes the model in which the layers of the best set are narrow: with Casts at the borders of
 * 16-bit layers, or with QuantizeLinear and DequantizeLinear before 8-bit layers, whose weights are
 * stored in 8 bits; in a mix with both. */
PGY_API PGY_MUST_CHECK pgy_status pgy_precision_model(pgy_model **out, const pgy_precision *p,
                                                      pgy_error *err);
/** Runs a model made by pgy_precision_model in a runtime, on all samples, and gives its error.
 * @return PGY_E_ARGUMENT if the error does not pass, or is more than twice the promised one and
 * more than a tenth of the limit: then the emulation does not describe this runtime */
PGY_API PGY_MUST_CHECK pgy_status pgy_precision_verify(double *error, const pgy_precision *p,
                                                       pgy_model *typed, const pgy_backend *backend,
                                                       pgy_error *err);
/** Makes the model of the best set and verifies it in runtimes. If a runtime refuses it, the most
 * sensitive layers go back to float32, in a mix those of 8 bits to 16 bits first, and it is tried
 * again, up to 4 times. So the best set, its errors and its cost may change.
 * @return as pgy_precision_verify, after the last try */
PGY_API PGY_MUST_CHECK pgy_status pgy_precision_settle(pgy_model **out, pgy_precision *p,
                                                       const pgy_backend *const *backends,
                                                       size_t count, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
