/* SPDX-License-Identifier: Apache-2.0 */
/* Fast byte scans for the JSON reader and writer. */
#ifndef BASE_JSON_SCAN_H
#define BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* First byte in [p, end) that ends a plain run of a string: '"', '\\' or a control character. Sets
 * *high if it passes a byte over 0x7f. */
const char *json_scan_string(const char *p, const char *end, bool *high);
/* First byte in [p, end) that ASCII output must escape: '"', '\\', controls, 0x7f and above. */
const char *json_scan_plain(const char *p, const char *end);

#endif
