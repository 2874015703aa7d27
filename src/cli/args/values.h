/* SPDX-License-Identifier: Apache-2.0 */
/* The small languages inside option values: casts, key:value lists, shapes, byte counts,
 * script:function. Everything that is returned lives in the arena. Errors name the option and show
 * the accepted form. */
#ifndef CLI_ARGS_VALUES_H
#define CLI_ARGS_VALUES_H

#include <polygraphy/compare.h>
#include <polygraphy/option.h>

#include "base/arena.h"

struct args;

/* How a program writes lists and shapes. */
typedef struct value_syntax {
    char separator;    /* between the values of one word; 0: every value is a word */
    const char *shape; /* of an image, for texts */
    const char *form;  /* of an input with its shape, for errors */
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
    const char *text;               /* TEXT, without its quotes; for INT and REAL as written */
    const struct cast_value *items; /* LIST */
    size_t count;
} cast_value;
pgy_status value_cast(cast_value *out, const char *text, arena *a, pgy_error *err) PGY_MUST_CHECK;

/* "key:value" split at the last colon; no colon: key "". */
typedef struct key_value {
    const char *key;
    const char *value;
} key_value;
/* Repeated keys keep the last value at the place of the first. */
pgy_status values_split(const key_value **out, size_t *count, const pgy_text_list *list, arena *a,
                        pgy_error *err) PGY_MUST_CHECK;

pgy_status values_numbers(pgy_number_map *out, const pgy_text_list *list, const char *option,
                          arena *a, pgy_error *err) PGY_MUST_CHECK;
pgy_status values_stats(const pgy_stat_entry **out, size_t *count, const pgy_text_list *list,
                        arena *a, pgy_error *err) PGY_MUST_CHECK;
pgy_status values_ranges(const pgy_value_range **out, size_t *count, const pgy_text_list *list,
                         arena *a, pgy_error *err) PGY_MUST_CHECK;
/* Names with shapes, as the program of the line writes them. With brackets, the form before 0.45,
 * name,1x2x3, is accepted with a warning, and name:1x2x3 gets an error that shows the right form.
 */
pgy_status values_shapes(pgy_metadata **out, const pgy_text_list *list, const char *option,
                         struct args *line, pgy_error *err) PGY_MUST_CHECK;
/* NAME:SHAPE:DTYPE (without `shapes`: NAME:DTYPE), where "auto" leaves rank -1 or dtype NONE.
 * Repeated names keep the last item at the place of the first. */
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
