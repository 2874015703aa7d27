/* SPDX-License-Identifier: Apache-2.0 */
/* The engine saves its plan when it is activated. */
#include "cli/groups/trt_plan.h"

#include "cli/groups/trt.h"

pgy_status trt_save_plan_of(pgy_loader *loader, const pgy_build_config *config, const char *path,
                            pgy_error *err)
{
    const pgy_backend *backend = pgy_backend_find_trait(PGY_BACKEND_BUILDS_PLANS);
    pgy_backend_options *options = NULL;
    pgy_model_source source = {0};
    pgy_runner *runner = NULL;
    pgy_status st = pgy_backend_options_create(&options, backend, err);
    if (!st) st = pgy_backend_options_set(options, "save_engine", path, err);
    if (!st) st = pgy_engine_runner_configure(options, config, err);
    if (!st) {
        st = pgy_loader_source(&source, loader, err);
        loader = NULL;
    }
    if (!st) st = pgy_runner_create(&runner, backend, &source, options, NULL, err);
    if (!st) st = pgy_runner_activate(runner, err);
    pgy_runner_destroy(runner);
    pgy_backend_options_destroy(options);
    pgy_loader_destroy(loader);
    return st;
}

pgy_status trt_save_plan(pgy_loader *loader, args *line, const char *path, pgy_error *err)
{
    const pgy_build_config *config = NULL;
    pgy_status st = trt_config_make(&config, line, err);
    if (st)
        pgy_loader_destroy(loader);
    else
        st = trt_save_plan_of(loader, config, path, err);
    trt_config_release(line);
    return st;
}
