/* SPDX-License-Identifier: Apache-2.0 */
/* Saves inputs and outputs of a run as its iterations arrive, so that none is kept until the end.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "compare/run.h"

static const char LOG_PATH[] = "comparator/comparator.py";

pgy_status saver_check_paths(const pgy_run_options *o, pgy_error *err)
{
    const char *paths[] = {o->save_inputs, o->save_outputs, o->save_input_blob};
    pgy_status st = PGY_OK;
    for (int i = 0; !st && i < 3; i++)
        for (int k = 0; !st && k < i; k++) {
            if (!paths[i] || !paths[k]) continue;
            char *a = path_absolute(paths[i]), *b = path_absolute(paths[k]);
            if (a && b && !strcmp(a, b))
                st = pgy_error_set(err, PGY_E_ARGUMENT,
                                   "Two of save_inputs_path, save_outputs_path, and "
                                   "save_input_blob_path resolve to the same "
                                   "path ('%s'). Use distinct paths.",
                                   paths[i]);
            mem_free(a);
            mem_free(b);
        }
    return st;
}

pgy_status saver_open(saver *s, const pgy_run_options *o, pgy_error *err)
{
    *s = (saver){.options = o};
    pgy_status st = PGY_OK;
    if (o->save_inputs) st = pgy_feed_writer_create(&s->inputs, o->save_inputs, err);
    if (!st && o->save_outputs) st = pgy_results_writer_create(&s->outputs, o->save_outputs, err);
    if (!st && o->save_input_blob)
        LOG(INFO, "Saving raw inference input tensors to: %s", o->save_input_blob);
    if (st) saver_close(s);
    return st;
}

pgy_status saver_add_feed(saver *s, const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_status st = s->inputs ? pgy_feed_writer_add(s->inputs, feed, err) : PGY_OK;
    if (!st && s->options->save_input_blob)
        st = pgy_feed_save_blob(s->options->save_input_blob, s->feed_count, feed, err);
    s->feed_count++;
    return st;
}

pgy_status saver_add_results(saver *s, const pgy_results *iteration, pgy_error *err)
{
    return s->outputs ? pgy_results_writer_add(s->outputs, iteration, err) : PGY_OK;
}

pgy_status saver_finish(saver *s, pgy_error *err)
{
    pgy_status st = s->inputs ? pgy_feed_writer_finish(s->inputs, err) : PGY_OK;
    if (!st && s->outputs) st = pgy_results_writer_finish(s->outputs, err);
    return st;
}

void saver_close(saver *s)
{
    pgy_feed_writer_destroy(s->inputs);
    pgy_results_writer_destroy(s->outputs);
    *s = (saver){0};
}
