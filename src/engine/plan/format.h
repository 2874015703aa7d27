/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of plan files: little-endian, without pointers, used where the file is mapped.
 *
 *     plan_header, plan_section[section_count]
 *     sections, each at a multiple of PLAN_ALIGN (PLAN_BULK_ALIGN from PLAN_BULK_BYTES on)
 *     zeros, up to a multiple of PLAN_PAGE
 *
 * Readers refuse an unknown major version, and skip sections of an unknown kind that are marked
 * optional. Small sections may be deflated, alone or together as a PLAN_BUNDLE. The header's hash
 * covers the header, with the hash field as 0, and the section table. The hash of a small section
 * is checked when the file is opened, that of a large one by plan_verify. Records refer to texts by
 * offsets into PLAN_STRINGS.
 */
#ifndef ENGINE_PLAN_FORMAT_H
#define ENGINE_PLAN_FORMAT_H

#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "plans are used where they are mapped");

#define PLAN_MAGIC "\x89PGYPLAN"

enum {
    PLAN_MAJOR = 6,
    PLAN_OLDEST_MAJOR = 4, /* without deflated sections, 16-bit constants (5) and bundles (6) */
    PLAN_MINOR = 0,
    PLAN_ALIGN = 64,
    PLAN_BULK_ALIGN = 4096,
    PLAN_PAGE = 4096,
    PLAN_BULK_BYTES = 1 << 20,
    PLAN_MAX_SECTIONS = 64,
    PLAN_MAX_SPACES = 4,
    PLAN_MAX_DEFLATED = 256 << 10 /* most bytes of a section or bundle that is deflated. Larger
                                     ones are used where they are mapped: inflating them would
                                     delay opening */
};

typedef enum plan_kind {
    PLAN_STRINGS = 1, /* texts, each terminated */
    PLAN_INFO,        /* one plan_info_record */
    PLAN_SETTINGS,    /* plan_setting: the configuration, as in build/config_store.h */
    PLAN_VALUES,      /* plan_value: the model's inputs, then its outputs, as declared */
    PLAN_DIMS,        /* plan_dim: the dimensions of the values in PLAN_VALUES */
    PLAN_PROFILES,    /* plan_profile */
    PLAN_RANGES,      /* plan_range: for each profile, one range for each input */
    PLAN_SPACES,      /* plan_space: the host, then the devices that programs use */
    PLAN_PROGRAMS,    /* plan_program */
    PLAN_ARENAS,      /* plan_arena: for each program, one arena for each space */
    PLAN_TENSORS,     /* plan_tensor: tensors of all programs */
    PLAN_SHAPES,      /* int64: sizes of dimensions */
    PLAN_STEPS,       /* plan_step: steps of all programs */
    PLAN_REFS,        /* uint32: tensors that steps and outputs use, as indices into their program's
                         tensors */
    PLAN_MARKS,       /* plan_mark: debug tensors, and the step that computes each */
    PLAN_PARAMS,      /* parameters of kernels */
    PLAN_CONSTANTS,   /* large, one section for each space: weights that steps read, some packed by
                         kernels; equal weights are stored once */
    PLAN_WEIGHTS, /* large: weights of PLAN_MODEL and PLAN_SOURCE that are not in PLAN_CONSTANTS */
    PLAN_MODEL,   /* large: the graph after all passes, as an ONNX model */
    PLAN_SOURCE,  /* large: the model before all passes, for refits; may be empty */
    PLAN_CONSTANTS_F16,  /* large, may be absent: the host's constants whose 32-bit words are all */
    PLAN_CONSTANTS_BF16, /* widened float16 or bfloat16 numbers, stored as these. Opening widens
                            them again */
    PLAN_BUNDLE,         /* may be absent: small sections of space 0. A plan_bundled for
                            each, one of kind 0, then the sections, each at a multiple of PLAN_ALIGN and
                            shuffled (records.h) */
    PLAN_KIND_END
} plan_kind;

/* plan_section.flags */
enum {
    PLAN_OPTIONAL = 1, /* readers skip the section if its kind is new */
    PLAN_DEFLATED = 2  /* uint64 size of the section, then its bytes as zlib writes them */
};

/* Where a constant lies, in the two highest bits of its offset. The rest is its place in the
 * section; in the 16-bit sections, its place after widening. */
typedef enum plan_area { PLAN_AREA_PLAIN, PLAN_AREA_F16, PLAN_AREA_BF16, PLAN_AREA_END } plan_area;
enum { PLAN_AREA_SHIFT = 62 };

typedef struct plan_header {
    char magic[8];
    uint16_t major, minor;
    uint32_t header_bytes; /* size of header and section table */
    uint64_t file_bytes;
    uint32_t section_count;
    uint32_t cpu_level; /* instruction-set level that the kernels need */
    uint64_t flags;     /* no flag is defined yet */
    uint64_t hash;
} plan_header;

typedef struct plan_section {
    uint32_t kind, version, flags;
    uint32_t space; /* for PLAN_CONSTANTS: the space that reads them; 0 for other kinds */
    uint64_t offset, size_bytes, hash;
} plan_section;

typedef struct plan_bundled {
    uint32_t kind, size_bytes;
} plan_bundled;

enum {
    PLAN_REFITTABLE = 1,
    PLAN_STRIPPED = 2, /* CONSTANTS is empty until a refit fills it */
    PLAN_WHOLE = 4,    /* PLAN_MODEL keeps all weights, so programs for other shapes can be built */
    PLAN_VERSION_COMPATIBLE = 8 /* the engine may replace kernels that a later library lacks */
};

typedef struct plan_info_record {
    uint32_t name, library; /* texts: name of the model; version of the library that wrote the
                               plan */
    uint64_t model_hash;    /* hash of the model file that was built; 0: not known */
    uint32_t flags;
    uint32_t input_count, output_count; /* numbers of the model's inputs and outputs */
    uint32_t reserved;
} plan_info_record;

typedef struct plan_space {
    uint32_t name, fingerprint; /* texts of the device; the host's fingerprint is PLAN_NO_TEXT */
    uint64_t constant_bytes; /* size of its constants in memory, even if stripping left them out */
} plan_space;

typedef struct plan_setting {
    uint32_t field, text; /* text: or PLAN_NO_TEXT */
    int64_t value;
} plan_setting;

#define PLAN_NO_TEXT UINT32_MAX

typedef struct plan_value {
    uint32_t name;
    int32_t dtype, rank; /* dtype: ONNX's number of the element type, 0 if unknown; rank: -1 if
                            unknown */
    uint32_t form;       /* pgy_form */
    uint32_t dims, reserved;
} plan_value;

typedef struct plan_dim {
    int64_t value; /* size; -1: not fixed */
    uint32_t name; /* text: name of a symbolic dimension, or PLAN_NO_TEXT */
    uint32_t reserved;
} plan_dim;

#define PLAN_NO_PROGRAM UINT32_MAX

typedef struct plan_profile {
    uint32_t program; /* index of the program for its usual shapes; PLAN_NO_PROGRAM: the graph is
                         interpreted */
    uint32_t reserved;
} plan_profile;

typedef struct plan_range {
    uint32_t kind; /* pgy_bound_kind */
    uint32_t count;
    uint32_t entries; /* index in PLAN_SHAPES of the min entries, which the opt and max entries
                         follow */
    uint32_t reserved;
} plan_range;

typedef struct plan_program {
    uint32_t tensors, tensor_count; /* first index in PLAN_TENSORS and number; inputs come first */
    uint32_t steps, step_count;
    uint32_t outputs; /* index in PLAN_REFS of its first output */
    uint32_t marks, mark_count;
    uint32_t arenas; /* index in PLAN_ARENAS of its arena in space 0, which those of the other
                        spaces follow */
    uint32_t event_count, reserved;
    uint64_t workspace_bytes, scratch_bytes; /* largest that any step needs */
} plan_program;

typedef struct plan_arena {
    uint64_t size_bytes, bound;
} plan_arena;

typedef struct plan_mark {
    uint32_t step, tensor; /* indices into the program's steps and tensors */
} plan_mark;

typedef struct plan_tensor {
    uint32_t name;
    int32_t dtype, rank;
    uint32_t shape; /* index in PLAN_SHAPES of the first dimension */
    uint32_t layout, place, space, reserved;
    uint64_t offset, size_bytes;
} plan_tensor;

#define PLAN_NO_NODE UINT32_MAX

typedef struct plan_step {
    uint32_t label, op_type;
    uint32_t act, space, event;      /* as in program_step */
    uint32_t kernel, kernel_version; /* kernel: text with its name; PLAN_NO_TEXT: the node's
                                        reference definition runs */
    uint32_t node;                   /* index of its node in the stored graph, or PLAN_NO_NODE */
    uint32_t refs, input_count, captured_count, output_count;
    uint32_t phases, parts, packed_inputs;
    int32_t in_place;
    uint32_t workspace_place; /* offset in the arena of its space, in units of 64 bytes */
    uint32_t reserved;
    uint64_t params_offset, params_bytes, packed_offset, packed_bytes;
    uint64_t workspace_bytes, scratch_bytes;
    double cost_ns;
} plan_step;

#endif
