/* SPDX-License-Identifier: Apache-2.0 */
/* SARIF 2.1.0, the format in which tools report findings to code hosts and editors: one run of this
 * program with its rules, then results. The model file is the artifact; the subject of a result (a
 * node, a value) is a logical location in it. */
#ifndef BASE_SARIF_H
#define BASE_SARIF_H

#include "base/json.h"

typedef struct sarif_rule {
    const char *id, *text;
} sarif_rule;

typedef struct sarif_result {
    size_t rule;           /* index in the rules that sarif_begin received */
    const char *level;     /* "error", "warning" or "note" */
    const char *message;   /* plain text */
    const char *path;      /* path of the file; NULL: none */
    const char *name;      /* name of the logical location; NULL: none */
    const char *full_name; /* name of the logical location with the names of all locations around
                              it; NULL: none */
    const char *kind;      /* kind of the logical location: "value", "function"... */
} sarif_result;

/* Between sarif_begin and sarif_end only sarif_add may write. */
void sarif_begin(json_writer *w, const sarif_rule *rules, size_t count);
void sarif_end(json_writer *w);
void sarif_add(json_writer *w, const sarif_rule *rules, const sarif_result *r);

#endif
