/* SPDX-License-Identifier: Apache-2.0 */
/* Plan files: what lies where. Little-endian, without pointers, used where it is mapped.
 *
 *     plan_header, plan_section[section_count]
 *     sections, each at a multiple of PLAN_ALIGN (PLAN_BULK_ALIGN the large ones)
 *
 * Readers refuse another major version and skip kinds they do not know that are marked optional.
 * The header's hash covers header and section table (with itself as 0). That of a section is
 * checked when the file is opened, of large sections by plan_verify. Texts are offsets into
 * STRINGS. */
#ifndef ENGINE_PLAN_FORMAT_H
#define ENGINE_PLAN_FORMAT_H

#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "plans are used where they are mapped");

#define PLAN_MAGIC "\x89PGYPLAN"

enum {
    PLAN_MAJOR = 3,
    PLAN_MINOR = 0,
    PLAN_ALIGN = 64,
    PLAN_BULK_ALIGN = 4096,
    PLAN_MAX_SECTIONS = 64,
    PLAN_MAX_SPACES = 4
};

typedef enum plan_kind {
    PLAN_STRINGS = 1, /* texts, each terminated */
    PLAN_INFO,        /* one plan_info_record */
    PLAN_SETTINGS,    /* plan_setting: the configuration, as in build/config_store.h */
    PLAN_VALUES,      /* plan_value: the model's inputs, then its outputs, as declared */
    PLAN_DIMS,        /* plan_dim of those */
    PLAN_PROFILES,    /* plan_profile */
    PLAN_RANGES,      /* plan_range: of each profile, for each input */
    PLAN_SPACES,      /* plan_space: the host, then the devices that programs use */
    PLAN_PROGRAMS,    /* plan_program */
    PLAN_ARENAS,      /* plan_arena: of each program, for each space */
    PLAN_TENSORS,     /* plan_tensor of the programs */
    PLAN_SHAPES,      /* int64: sizes of dimensions */
    PLAN_STEPS,       /* plan_step of the programs */
    PLAN_REFS,        /* uint32: tensors of steps and outputs, by their place in their program */
    PLAN_MARKS,       /* plan_mark: debug tensors */
    PLAN_PARAMS,      /* parameters of kernels */
    PLAN_CONSTANTS,   /* bulk, one for each space: weights that steps read, packed ones too; equal
                         ones once */
    PLAN_WEIGHTS,     /* bulk: weights of the models below that are not among the constants */
    PLAN_MODEL,       /* bulk: the graph after all passes, as an ONNX model */
    PLAN_SOURCE,      /* bulk: the model before all passes, for refits; may be empty */
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
    uint32_t kind, version, flags;
    uint32_t space; /* of CONSTANTS; 0 for other kinds */
    uint64_t offset, size_bytes, hash;
} plan_section;

enum {
    PLAN_REFITTABLE = 1,
    PLAN_STRIPPED = 2,          /* CONSTANTS is empty until a refit fills it */
    PLAN_WHOLE = 4,             /* the graph has all weights: other shapes can be built */
    PLAN_VERSION_COMPATIBLE = 8 /* kernels that this library no longer has may be chosen anew */
};

typedef struct plan_info_record {
    uint32_t name, library; /* of the model; version of the library that wrote the plan */
    uint64_t model_hash;    /* of the model that was built, 0: not known */
    uint32_t flags;
    uint32_t input_count, output_count; /* of the model */
    uint32_t reserved;
} plan_info_record;

typedef struct plan_space {
    uint32_t name, fingerprint; /* of the device; the host's fingerprint is PLAN_NO_TEXT */
    uint64_t constant_bytes;    /* of its CONSTANTS, also when it was stripped */
} plan_space;

typedef struct plan_setting {
    uint32_t field, text; /* text: or PLAN_NO_TEXT */
    int64_t value;
} plan_setting;

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

#define PLAN_NO_PROGRAM UINT32_MAX

typedef struct plan_profile {
    uint32_t program; /* of its usual shapes; PLAN_NO_PROGRAM: it is interpreted */
    uint32_t reserved;
} plan_profile;

typedef struct plan_range {
    uint32_t kind; /* pgy_bound_kind */
    uint32_t count;
    uint32_t entries; /* place in SHAPES: min, opt, max */
    uint32_t reserved;
} plan_range;

typedef struct plan_program {
    uint32_t tensors, tensor_count; /* inputs first */
    uint32_t steps, step_count;
    uint32_t outputs; /* place in REFS */
    uint32_t marks, mark_count;
    uint32_t arenas; /* place in ARENAS: one for each space */
    uint32_t event_count, reserved;
    uint64_t workspace_bytes, scratch_bytes; /* largest of any step */
} plan_program;

typedef struct plan_arena {
    uint64_t size_bytes, bound;
} plan_arena;

typedef struct plan_mark {
    uint32_t step, tensor; /* of their program */
} plan_mark;

typedef struct plan_tensor {
    uint32_t name;
    int32_t dtype, rank;
    uint32_t shape; /* place in SHAPES */
    uint32_t layout, place, space, reserved;
    uint64_t offset, size_bytes;
} plan_tensor;

#define PLAN_NO_NODE UINT32_MAX

typedef struct plan_step {
    uint32_t label, op_type;
    uint32_t act, space, event;      /* as in program_step */
    uint32_t kernel, kernel_version; /* PLAN_NO_TEXT: the reference definition of the node */
    uint32_t node;                   /* place in the stored graph, or PLAN_NO_NODE */
    uint32_t refs, input_count, captured_count, output_count;
    uint32_t phases, parts, packed_inputs;
    int32_t in_place;
    uint32_t workspace_place; /* in the arena of its space, in units of 64 bytes */
    uint32_t reserved;
    uint64_t params_offset, params_bytes, packed_offset, packed_bytes;
    uint64_t workspace_bytes, scratch_bytes;
    double cost_ns;
} plan_step;

#endif
