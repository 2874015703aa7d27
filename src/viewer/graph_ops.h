/* SPDX-License-Identifier: Apache-2.0 */
/* What the page says about operators: a category, and one line of documentation. */
#ifndef VIEWER_GRAPH_OPS_H
#define VIEWER_GRAPH_OPS_H

#include "viewer/graph.h"

/* Sets category and doc of an operator; of unknown ones VIEW_OTHER and "". */
void graph_describe_op(view_op *op, const char *name, const char *domain);
const char *graph_category_name(view_category c); /* as the page's data name it */

#endif
