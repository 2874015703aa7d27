/* SPDX-License-Identifier: Apache-2.0 */
/* The loader over a Python script: every `next` asks the script's process for one more map of
 * arrays. */
#include <polygraphy/data.h>

#include "base/log.h"
#include "data/python.h"

static const char LOG_PATH[] = "data/script.c";

static pgy_status script_next(pgy_tensor_map **out, void *user, pgy_error *err)
{
    python_script *s = user;
    char kind = 0;
    *out = NULL;
    pgy_status st = python_ask(s, 'n', err);
    if (!st) st = python_answer(&kind, s, err);
    if (!st && kind == 'M') st = python_take_map(out, s, err);
    return st ? pgy_error_prefix(err, st,
                                 "'%s' of the data loader script: ", python_script_symbol(s))
              : PGY_OK;
}

static pgy_status script_rewind(void *user, pgy_error *err)
{
    char kind;
    pgy_status st = python_ask(user, 'r', err);
    return st ? st : python_answer(&kind, user, err);
}

static pgy_status script_set_metadata(void *user, const pgy_metadata *inputs, pgy_error *err)
{
    char kind;
    pgy_status st = python_ask(user, 'm', err);
    if (!st) st = python_put_inputs(user, inputs, err);
    return st ? st : python_answer(&kind, user, err);
}

static void script_destroy(void *user)
{
    python_script_stop(user);
}

pgy_status pgy_script_loader_create(pgy_data_loader **out, const char *script, pgy_error *err)
{
    static const pgy_data_loader_functions FUNCTIONS = {
        sizeof FUNCTIONS, script_next, script_rewind, script_set_metadata, script_destroy};
    python_script *s = NULL;
    LOG(VERBOSE, "Loading input data with the script %s", script);
    pgy_status st = python_script_start(&s, script, "load_data", "data", err);
    if (st) return st;
    st = pgy_data_loader_create(out, &FUNCTIONS, s, err);
    if (st) python_script_stop(s);
    return st;
}
