/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers of option values: casts, key:value lists, shapes, byte counts, script:function. Results
 * live in the arena. Errors name the option and show the accepted syntax. */
#ifndef CLI_ARGS_VALUES_H
#define CLI_ARGS_VALUES_H

#include <polygraphy/compare.h>
#include <polygraphy/option.h>

#include "base/arena.h"

struct args;

/* A program's syntax of lists and shapes. */
typedef struct value_syntax {
    char separator;    /* between values in one word of the command line; 0: one value per word */
    const char *shape; /* example: an image's shape, for texts */
    const char *form;  /* syntax of an input with its shape, for errors */
    pgy_status (*read_shape)(pgy_tensor_info *out, const char *item, const char *option, arena *a,
                             pgy_error *err);
} value_syntax;
extern const value_syntax VALUES_BRACKETS; /* a:[1,3] b:[2] */
extern const value_syntax VALUES_CROSSES;  /* a:1x3,b:2 */

/* A value as the original's `cast` reads it. */
typedef enum cast_kind { CAST_INT, CAST_REAL, CAST_TEXT, CAST_LIST } cast_kind;
typedef struct cast_value {
    cast_kind kind;
    pgy_number number;              /* INT and REAL */
    const char *text;               /* TEXT: without its quotes; INT and REAL: as written */
    const struct cast_value *items; /* LIST */
    size_t count;
} cast_value;
pgy_status value_cast(cast_value *out, const char *text, arena *a, pgy_error *err) PGY_MUST_CHECK;

/* "key:value", split at the last colon. Without a colon the key is "". */
typedef struct key_value {
    const char *key;
    const char *value;
} key_value;
/* Splits "key:value" items. A repeated key keeps its first position and takes its last value.
 */
pgy_status values_split(const key_value **out, size_t *count, const pgy_text_list *list, arena *a,
                        pgy_error *err) PGY_MUST_CHECK;

pgy_status values_numbers(pgy_number_map *out, const pgy_text_list *list, const char *option,
                          arena *a, pgy_error *err) PGY_MUST_CHECK;
pgy_status values_stats(const pgy_stat_entry **out, size_t *count, const pgy_text_list *list,
                        arena *a, pgy_error *err) PGY_MUST_CHECK;
pgy_status values_ranges(const pgy_value_range **out, size_t *count, const pgy_text_list *list,
                         arena *a, pgy_error *err) PGY_MUST_CHECK;
/* Reads tensor names with shapes, in the syntax of the line's program. With brackets, the syntax
 * before 0.45 (name,1x2x3) is accepted with a warning, and name:1x2x3 gets an error that shows the
 * right syntax. */
pgy_status values_shapes(pgy_metadata **out, const pgy_text_list *list, const char *option,
                         struct args *line, pgy_error *err) PGY_MUST_CHECK;
/* NAME:SHAPE:DTYPE (without `shapes`: NAME:DTYPE), where "auto" leaves rank -1 or dtype NONE. A
 * repeated name keeps its first position and its last item. */
pgy_status values_tensors(const pgy_tensor_info **out, size_t *count, const pgy_text_list *list,
                          const char *option, bool shapes, arena *a, pgy_error *err) PGY_MUST_CHECK;
pgy_status values_top_k(const pgy_top_k **out, size_t *count, const pgy_text_list *list, arena *a,
                        pgy_error *err) PGY_MUST_CHECK;
pgy_status value_bytes(uint64_t *out, const char *text, const char *option,
                       pgy_error *err) PGY_MUST_CHECK;
/* "path.py:function" at the last colon; *function is NULL when absent. */
pgy_status value_script(const char **path, const char **function, const char *text, arena *a,
                        pgy_error *err) PGY_MUST_CHECK;

#endif
