/* SPDX-License-Identifier: Apache-2.0 */
/* Plan files: what lies where. Little-endian, without pointers, used where it is mapped.
 *
 *     plan_header, plan_section[section_count]
 *     sections, each at a multiple of PLAN_ALIGN (PLAN_BULK_ALIGN the large ones)
 *
 * Readers refuse another major version and skip kinds they do not know that are marked optional.
 * The header's hash covers header and section table (with itself as 0). That of a section is
 * checked when the file is opened, of large sections when somebody asks. Texts are offsets into
 * STRINGS.
 */
#ifndef ENGINE_PLAN_FORMAT_H
#define ENGINE_PLAN_FORMAT_H

#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "plans are used where they are mapped");

#define PLAN_MAGIC "\x89PGYPLAN"

enum {
    PLAN_MAJOR = 1,
    PLAN_MINOR = 0,
    PLAN_ALIGN = 64,
    PLAN_BULK_ALIGN = 4096,
    PLAN_MAX_SECTIONS = 64
};

typedef enum plan_kind {
    PLAN_STRINGS = 1, /* texts, each terminated */
    PLAN_INFO,        /* one plan_info_record */
    PLAN_VALUES,      /* plan_value: the model's inputs, then its outputs, as declared */
    PLAN_DIMS,        /* plan_dim of those */
    PLAN_TENSORS,     /* plan_tensor of the program */
    PLAN_SHAPES,      /* int64: sizes of dimensions */
    PLAN_STEPS,       /* plan_step */
    PLAN_REFS,        /* uint32: tensors of steps, then of the outputs */
    PLAN_PARAMS,      /* parameters of kernels */
    PLAN_CONSTANTS,   /* bulk: weights, packed ones too */
    PLAN_MODEL,       /* bulk: the graph as an ONNX model */
    PLAN_KIND_END
} plan_kind;

enum { PLAN_OPTIONAL = 1 /* plan_section.flags: readers that do not know the kind go on */ };

typedef struct plan_header {
    char magic[8];
    uint16_t major, minor;
    uint32_t header_bytes; /* with the section table */
    uint64_t file_bytes;
    uint32_t section_count;
    uint32_t cpu_level; /* that the kernels need */
    uint64_t flags;     /* none so far */
    uint64_t hash;
} plan_header;

typedef struct plan_section {
    uint32_t kind, version, flags, reserved;
    uint64_t offset, size_bytes, hash;
} plan_section;

typedef struct plan_info_record {
    uint32_t name, library; /* of the model; version of the library that wrote the plan */
    uint64_t model_hash;    /* of the model that was built, 0: not known */
    uint32_t input_count, output_count; /* of the model */
    uint32_t has_program;               /* 0: the graph is interpreted */
    uint32_t output_refs;               /* program: place of its outputs in REFS */
    uint64_t arena_bytes, arena_bound, workspace_bytes, scratch_bytes;
} plan_info_record;

#define PLAN_NO_TEXT UINT32_MAX

typedef struct plan_value {
    uint32_t name;
    int32_t dtype, rank; /* type as in ONNX files, 0: unknown; rank -1: unknown */
    uint32_t form;       /* pgy_form */
    uint32_t dims, reserved;
} plan_value;

typedef struct plan_dim {
    int64_t value; /* -1: not fixed */
    uint32_t name; /* or PLAN_NO_TEXT */
    uint32_t reserved;
} plan_dim;

typedef struct plan_tensor {
    uint32_t name;
    int32_t dtype, rank;
    uint32_t shape; /* place in SHAPES */
    uint32_t layout, place;
    uint64_t offset, size_bytes;
} plan_tensor;

#define PLAN_NO_NODE UINT32_MAX

typedef struct plan_step {
    uint32_t label, op_type;
    uint32_t kernel, kernel_version; /* PLAN_NO_TEXT: the reference definition of the node */
    uint32_t node;                   /* place in the stored graph, or PLAN_NO_NODE */
    uint32_t refs, input_count, captured_count, output_count;
    uint32_t phases, parts, packed_inputs;
    int32_t in_place;
    uint32_t workspace_place; /* in the arena, in units of 64 bytes */
    uint64_t params_offset, params_bytes, packed_offset, packed_bytes;
    uint64_t workspace_bytes, scratch_bytes;
    double cost_ns;
} plan_step;

#endif
