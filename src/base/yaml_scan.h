/* SPDX-License-Identifier: Apache-2.0 */
/* The cursor of the YAML reader, and the texts that it reads. */
#ifndef BASE_YAML_SCAN_H
#define BASE_YAML_SCAN_H

#include <polygraphy/base.h>

#include "base/str.h"

typedef struct yaml_scan {
    const char *p, *end, *line_start;
    uint32_t line;
    pgy_error *err;
    pgy_status st; /* the first error, at which the cursor stops */
} yaml_scan;

long yaml_column(const yaml_scan *s);             /* column of the cursor, from 0 */
void yaml_fail(yaml_scan *s, const char *what);   /* PGY_E_FORMAT at the cursor */
char yaml_peek(const yaml_scan *s, size_t ahead); /* gives '\n' past the end of the text */
bool yaml_at_end(const yaml_scan *s);
void yaml_skip_spaces(yaml_scan *s); /* blanks and a comment */
void yaml_skip_lines(yaml_scan *s);  /* to the next token */
bool yaml_ends_line(yaml_scan *s);   /* true if nothing follows on this line */
/* True at "---" or "...". */
bool yaml_at_marker(const yaml_scan *s, const char *marker);
bool yaml_document_ends(const yaml_scan *s);
bool yaml_at_dash(const yaml_scan *s);
bool yaml_at_key(const yaml_scan *s);

void yaml_check_encoding(yaml_scan *s); /* fails if the text after the cursor is not UTF-8 */
void yaml_check_plain_start(yaml_scan *s);
/* `flow`: the text is inside brackets, where , [ ] { } end it. */
void yaml_read_plain_line(yaml_scan *s, str *out, bool flow);
void yaml_read_plain(yaml_scan *s, str *out, long parent, bool flow);
void yaml_read_quoted(yaml_scan *s, str *out); /* the cursor is at the quote */
span yaml_read_name(yaml_scan *s);             /* the cursor is after "&" or "*" */
void yaml_skip_tag(yaml_scan *s); /* accepts the tag of a tuple, which becomes a list */

#endif
