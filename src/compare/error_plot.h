/* SPDX-License-Identifier: Apache-2.0 */
/* A plot of absolute and relative errors over the magnitude of the reference. */
#ifndef COMPARE_ERROR_PLOT_H
#define COMPARE_ERROR_PLOT_H

#include "compare/png.h"

typedef struct error_plot {
    const char *runners[2], *outputs[2];
    const double *magnitude, *absolute, *relative; /* `count` each; not negative */
    size_t count;
} error_plot;

pgy_status error_plot_draw(picture *out, const error_plot *p, pgy_error *err) PGY_MUST_CHECK;

#endif
