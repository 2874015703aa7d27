/* SPDX-License-Identifier: Apache-2.0 */
#include "debug/candidate_file.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/file_temp.h"
#include "base/log.h"

static const char LOG_PATH[] = "backend/onnx/loader.py";

/* A smaller file is written as fast without its parts being compared. */
static const uint64_t REWRITE_BYTES = 1 << 20;

pgy_status candidate_file_init(candidate_file *f, const char *path, pgy_error *err)
{
    str name = {0};
    *f = (candidate_file){.path = path};
    if (!path) return PGY_OK;
    str_printf(&name, "%s.data", path); /* where pgy_model_save moves the weights */
    f->data_path = str_take(&name);
    if (!f->data_path) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a session");
    if (!file_exists(f->data_path)) return PGY_OK;
    mem_free(f->data_path);
    f->data_path = NULL;
    return PGY_OK;
}

void candidate_file_deinit(candidate_file *f)
{
    model_rewriter_destroy(f->rewriter);
    mem_free(f->data_path);
    *f = (candidate_file){0};
}

pgy_status candidate_file_save(candidate_file *f, pgy_model *part, pgy_model *whole, bool keep,
                               pgy_error *err)
{
    bool saved = false;
    pgy_status st = PGY_OK;
    pgy_model_save_options o = pgy_model_save_options_default();
    o.embed = true;
    LOG(INFO, "Saving ONNX model to: %s", f->path);
    if (!keep && !f->rewriter)
        st = model_rewriter_create(&f->rewriter, whole, f->path, REWRITE_BYTES, err);
    if (!st && !keep) st = model_rewriter_save(&saved, f->rewriter, part, err);
    return st || saved ? st : pgy_model_save(part, f->path, &o, err);
}

void candidate_file_begin(candidate_file *f)
{
    if (f->path) temp_register(f->path);
    if (f->data_path) temp_register(f->data_path);
}

void candidate_file_remove(candidate_file *f)
{
    if (!f->path) return;
    if (!f->rewriter || !model_rewriter_hide(f->rewriter)) unlink(f->path);
    temp_forget(f->path);
    if (!f->data_path) return;
    unlink(f->data_path);
    temp_forget(f->data_path);
}
