/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The ABI of custom operators: a shared object exports them so that shape inference, constant
 * folding and the reference know operators of other domains.
 *
 * The object exports `const pgy_operator_definition *const *pgy_operators_v1(const
 * pgy_operator_host *host)`, a NULL-ended list, and does not link this library. A definition has
 * two functions: `infer` sets types and shapes of the outputs, `compute` their elements. The
 * reference holds every float type as double, signed integers and those up to 32 bits as int64_t,
 * uint64 as uint64_t, and bool as one byte. `compute` reads and writes these types, whatever the
 * declared type is; the host rounds to the declared type. Structs start with their size, and new
 * members are only appended.
 *
 * For the engine a definition may have tactics: native code whose parameters are stored in plans.
 *
 * examples/operators/ has a complete example.
 */
#ifndef POLYGRAPHY_OPERATOR_H
#define POLYGRAPHY_OPERATOR_H

#include <polygraphy/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PGY_OPERATOR_ABI 1

/** A node that has the operator; valid only during the call of `infer` or `compute` that receives
 * it. */
typedef struct pgy_operator_call pgy_operator_call;

/** Type and shape of an input, as far as they are known. A dimension is a number >= 0, or a handle
 * < 0 for a symbolic dimension. Handles may be used as output dimensions and in the arithmetic
 * below. */
typedef struct pgy_operator_type {
    pgy_dtype dtype;     /**< declared; NONE: not known, or the input is left out */
    int32_t rank;        /**< -1: not known */
    const int64_t *dims; /**< rank entries */
    bool present;
} pgy_operator_type;

/** A value of an input. */
typedef struct pgy_operator_value {
    pgy_dtype dtype; /**< declared */
    pgy_dtype held;  /**< PGY_F64, PGY_I64, PGY_U64, PGY_BOOL or PGY_C128: the element type of data
                      */
    size_t rank;
    const int64_t *shape;
    size_t count;     /**< number of elements */
    const void *data; /**< row-major; NULL: the input is left out */
} pgy_operator_value;

/** A completely unknown dimension. */
#define PGY_OPERATOR_UNKNOWN_DIM ((int64_t)-1)

/** The functions of this library that operators may call. */
typedef struct pgy_operator_host {
    size_t size;
    uint32_t abi;
    pgy_status (*set_error)(pgy_error *err, pgy_status status, const char *text);
    /* The node. */
    const char *(*node_name)(const pgy_operator_call *c);
    size_t (*input_count)(const pgy_operator_call *c);
    size_t (*output_count)(const pgy_operator_call *c);
    int64_t (*attribute_int)(const pgy_operator_call *c, const char *name, int64_t fallback);
    double (*attribute_float)(const pgy_operator_call *c, const char *name, double fallback);
    /** Not terminated; NULL with *size 0 if it is not given. */
    const char *(*attribute_text)(const pgy_operator_call *c, const char *name, size_t *size);
    const int64_t *(*attribute_ints)(const pgy_operator_call *c, const char *name, size_t *count);
    const float *(*attribute_floats)(const pgy_operator_call *c, const char *name, size_t *count);
    /* For `infer`. */
    pgy_operator_type (*input_type)(pgy_operator_call *c, size_t i);
    /** Returns false if input i is not a constant. */
    bool (*input_constant)(const pgy_operator_call *c, size_t i, pgy_operator_value *out);
    int64_t (*dim_add)(pgy_operator_call *c, int64_t a, int64_t b);
    int64_t (*dim_sub)(pgy_operator_call *c, int64_t a, int64_t b);
    int64_t (*dim_mul)(pgy_operator_call *c, int64_t a, int64_t b);
    int64_t (*dim_div)(pgy_operator_call *c, int64_t a, int64_t b); /**< floor */
    /** rank -1: the rank is not known. dims is copied. */
    pgy_status (*set_output)(pgy_operator_call *c, size_t i, pgy_dtype dtype, int32_t rank,
                             const int64_t *dims, pgy_error *err);
    /* For `compute`. */
    bool (*input_value)(const pgy_operator_call *c, size_t i, pgy_operator_value *out);
    /** Gives zeroed memory for output i. Its elements have the held type that belongs to the type
     * set by `infer`. */
    pgy_status (*output_data)(pgy_operator_call *c, size_t i, size_t rank, const int64_t *shape,
                              void **data, pgy_error *err);
    /** Zeroed memory for pgy_tactic_plan, which the host frees. NULL: out of memory. */
    void *(*allocate)(size_t size_bytes);
} pgy_operator_host;

/* ---- Tactics: the operator's own code for the engine ----------------------------------------- */

/** A tensor of known shape. */
typedef struct pgy_tactic_tensor {
    pgy_dtype dtype; /**< NONE: the tensor is omitted */
    int32_t rank;
    const int64_t *shape;
    /** Layout: 1 is row-major; 8 or 16: [N, C/block, spatial..., block], where lanes beyond C are
     * zero. `accept` reads the layout that an input has and sets the one that it wants. */
    int32_t block;
    const void *data; /**< elements of a constant, row-major; NULL: not a constant */
} pgy_tactic_tensor;

/** A problem: a node with concrete shapes. */
typedef struct pgy_tactic_use {
    const pgy_operator_call *call; /**< handle for the host's attribute functions */
    size_t input_count, output_count;
    pgy_tactic_tensor *inputs, *outputs;
} pgy_tactic_use;

typedef struct pgy_tactic_plan {
    void *params; /**< memory from host->allocate; plain bytes without pointers, because plans store
                     them */
    size_t params_bytes;
    size_t workspace_bytes; /**< extra memory during `run`, which all parts share */
    uint32_t parts;         /**< the largest number of parts to divide the work into; 0 means 1 */
    int32_t in_place;       /**< input whose memory output 0 may reuse; set to -1 for none */
} pgy_tactic_plan;

typedef struct pgy_tactic_run {
    const void *params;
    size_t params_bytes;
    const void *const *inputs; /**< NULL for an omitted optional input */
    void *const *outputs;
    void *workspace; /**< 64-byte aligned, not cleared */
    uint32_t part, parts;
} pgy_tactic_run;

/** The extents of a step: the bytes that `run` accesses with given parameters. The counts are the
 * step's; all bytes are 0 when `extent` is called. */
typedef struct pgy_tactic_extent {
    size_t input_count, output_count;
    uint64_t *input_bytes, *output_bytes; /**< bytes touched from the start of each tensor */
    uint64_t workspace_bytes;
} pgy_tactic_extent;

/** One way to compute the operator in the engine, on elements of the declared type (float32 and so
 * on). The engine chooses the cheapest tactic that accepts the problem; if none does, it runs
 * `compute` on converted copies. */
typedef struct pgy_operator_tactic {
    size_t size;      /**< sizeof(pgy_operator_tactic) */
    const char *name; /**< unique for the operator */
    uint32_t version; /**< version of params and results, 1 to 65535 */
    /** Returns false to refuse the problem. Else it sets the formats, and *cost_ns to the
     * approximate time on one core. Must be pure: equal problems give equal answers. */
    bool (*accept)(pgy_tactic_use *u, double *cost_ns);
    /** Prepares a problem that `accept` took. NULL: needs no preparation. */
    pgy_status (*prepare)(pgy_tactic_plan *out, const pgy_tactic_use *u, pgy_error *err);
    /** Called once for each part, possibly on several threads at once. Writes its part of every
     * output. A failure ends the run as a whole. */
    pgy_status (*run)(const pgy_tactic_run *r, pgy_error *err);
    /** Called when a plan is opened; the plan's author chose these bytes. Returns false if they are
     * not valid for `run`. Else it states the extents, and the host refuses a plan whose tensors
     * are smaller. NULL, or a struct of an older version: the host trusts the parameters. */
    bool (*extent)(pgy_tactic_extent *out, const void *params, size_t params_bytes);
} pgy_operator_tactic;

typedef enum pgy_operator_attribute_kind {
    PGY_OPERATOR_FLOAT = 1,
    PGY_OPERATOR_INT,
    PGY_OPERATOR_TEXT,
    PGY_OPERATOR_FLOATS,
    PGY_OPERATOR_INTS
} pgy_operator_attribute_kind;

typedef struct pgy_operator_attribute {
    const char *name; /**< NULL ends a list */
    pgy_operator_attribute_kind kind;
    bool required;
    const char *fallback; /**< default as text, "0.5"; NULL: none */
} pgy_operator_attribute;

typedef struct pgy_operator_definition {
    size_t size;  /**< sizeof(pgy_operator_definition) */
    uint32_t abi; /**< PGY_OPERATOR_ABI */
    const char *domain, *name;
    int64_t since; /**< first version of the domain with this definition, from 1 */
    size_t min_inputs, max_inputs, min_outputs, max_outputs; /**< SIZE_MAX: any number */
    const pgy_operator_attribute *attributes;                /**< may be NULL */
    /** Types: "T = float16 float32; X:T, ?mask:bool, *rest:T -> Y:T"; NULL: any. */
    const char *signature;
    bool random; /**< two runs may differ: never folded to a constant */
    pgy_status (*infer)(pgy_operator_call *c, pgy_error *err);
    /** Called after `infer`; every input has a value or is left out. NULL: the operator has only
     * tactics, and the reference cannot run it. */
    pgy_status (*compute)(pgy_operator_call *c, pgy_error *err);
    const pgy_operator_tactic *const *tactics; /**< ended by NULL; may be NULL */
} pgy_operator_definition;

typedef const pgy_operator_definition *const *(*pgy_operator_entry)(const pgy_operator_host *host);
#define PGY_OPERATOR_SYMBOL "pgy_operators_v1"

/** Opens a shared object and adds its operators for the life of the process. @return PGY_E_BACKEND
 * naming the file and the fault: symbol not found, another ABI, a missing callback, an operator
 * that is known already, an invalid signature */
PGY_API PGY_MUST_CHECK pgy_status pgy_operators_load(const char *path, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
