/* SPDX-License-Identifier: Apache-2.0 */
/* Formats tensors, nodes and attributes for the list of an edit's changes (changes.c). Each
 * function appends to `s`. */
#ifndef GS_EDIT_CHANGES_H
#define GS_EDIT_CHANGES_H

#include "gs/graph/gs.h"

void change_put_names(str *s, pgy_gs_tensor *const *list, size_t count);
void change_put_type(str *s, const pgy_gs_tensor *t);
void change_put_edges(str *s, const pgy_gs_node *n);
void change_put_attribute(str *s, const pgy_gs_attribute *attribute);

#endif
