/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of trtexec for one inference. */
#ifndef BACKENDS_TRTEXEC_LINE_H
#define BACKENDS_TRTEXEC_LINE_H

#include "backends/trtexec/options.h"
#include "base/str.h"

typedef struct trtexec_line {
    const char *program, *model;
    bool is_plan; /* the model is a plan; options for building have no effect then */
    const trtexec_options *options;
    const pgy_metadata *inputs; /* NULL: unknown */
    const pgy_tensor_map *feed;
    const char *load_inputs; /* the value of --loadInputs; "": no inputs */
    const char *output;      /* file for the outputs */
    const char *save;        /* file for the plan that is built; NULL: none */
} trtexec_line;

/* Appends the words to `out`. Fails for what trtexec's options cannot express. */
pgy_status line_make(strvec *out, const trtexec_line *l, pgy_error *err) PGY_MUST_CHECK;
/* Appends the shapes of the inputs with dynamic dimensions, "a:1x3,b:2"; "" if there are none. */
pgy_status line_shapes(str *out, const pgy_metadata *inputs, const pgy_tensor_map *feed,
                       pgy_error *err) PGY_MUST_CHECK;
/* Appends ",name:" to a list, or "name:" as its first item. */
pgy_status line_name(str *out, const char *name, pgy_error *err) PGY_MUST_CHECK;
/* Logs a warning for each field of the configuration that trtexec does not get. */
pgy_status line_warn(const pgy_build_config *config, pgy_error *err) PGY_MUST_CHECK;

#endif
