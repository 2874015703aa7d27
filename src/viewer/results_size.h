/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of every model, without files of results. */
#ifndef VIEWER_RESULTS_SIZE_H
#define VIEWER_RESULTS_SIZE_H

#include "viewer/page.h"

/* Adds the quantities `output_bytes`, `weight_bytes`, `flops` and `intensity` of all graphs, where
 * they are known. Call it when results of all files are there, so that these come first. */
pgy_status view_results_size(pgy_page *p, pgy_error *err) PGY_MUST_CHECK;

#endif
