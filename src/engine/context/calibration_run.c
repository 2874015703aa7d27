/* SPDX-License-Identifier: Apache-2.0 */
/* Runs each model to calibrate in an engine and a context of its own. Those engines need no
 * calibration themselves. */
#include "engine/context/calibration_run.h"

#include "engine/context/context.h"

static pgy_status open_engine(void **run, pgy_model *model, const pgy_build_config *config,
                              pgy_error *err)
{
    engine *e = NULL;
    context *c = NULL;
    pgy_status st = engine_build_with(&e, model, config, NULL, err);
    if (!st) st = context_create(&c, e, 0, err);
    engine_release(e); /* the context retains it */
    if (!st) *run = c;
    return st;
}

static pgy_status run_engine(void *run, const pgy_tensor_map *feed, pgy_tensor_map *out,
                             pgy_error *err)
{
    return context_run(run, feed, out, NULL, err);
}

static void close_engine(void *run)
{
    context_destroy(run);
}

const calibration_runner CALIBRATION_ENGINES = {
    .open = open_engine, .run = run_engine, .close = close_engine};
