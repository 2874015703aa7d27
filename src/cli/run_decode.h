/* SPDX-License-Identifier: Apache-2.0 */
/* `run --decode`. */
#ifndef CLI_RUN_DECODE_H
#define CLI_RUN_DECODE_H

#include <polygraphy/decode.h>
#include <polygraphy/engine.h>

#include "cli/command.h"

/* Decodes with the runners, logs the report, and writes those that --report asks for.
 * @param edited  the model of runners other than --trt; NULL: the file of the line
 * @param config  of --trt; NULL: none */
pgy_status run_decode(args *line, pgy_runner *const *runners, size_t count, pgy_model *edited,
                      const pgy_build_config *config, bool *passed, pgy_error *err) PGY_MUST_CHECK;
/* PGY_E_ARGUMENT if --report asks for a format that decoding lacks. */
pgy_status run_decode_check(args *line, pgy_error *err) PGY_MUST_CHECK;

#endif
