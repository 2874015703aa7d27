/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of results: iterations of one run, or any files that a page can show. */
#include "viewer/page_folder.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/file.h"
#include "viewer/page_files.h"

enum { MOST_FILES = 1000, SHOWN_NAMES = 3, ITERATION_DIGITS = 10 };

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while a folder is read");
}

/* "0000000012.json" */
static bool names_iteration(const char *name)
{
    size_t digits = 0;
    while (isdigit((unsigned char)name[digits])) digits++;
    return digits == ITERATION_DIGITS && !strcmp(name + digits, ".json");
}

static pgy_status is_run_folder(bool *out, const char *path, pgy_error *err)
{
    strvec names = {0};
    const pgy_status st = file_list_dir(&names, path, NULL, err);
    *out = !st && names.count > 0;
    for (size_t i = 0; i < names.count; i++)
        *out = *out && (names.items[i][0] == '.' || names_iteration(names.items[i]));
    strvec_deinit(&names);
    return st;
}

typedef struct folder_reader {
    pgy_page *page;
    const char *path;
    size_t owner, added, left_out;
    str examples; /* of files that are left out */
} folder_reader;

/* Reading anything but a file could wait forever. */
static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static pgy_status add_one(folder_reader *r, const char *name, pgy_error *err)
{
    char *path = path_join(r->path, name);
    bool is_result = false;
    if (!path) return no_memory(err);
    pgy_status st = PGY_OK;
    if (is_file(path)) st = page_file_is_result(&is_result, path, err);
    if (!st && is_result) {
        r->added++;
        st = page_file_add(r->page, path, NULL, r->owner, err);
    } else if (!st && r->left_out++ < SHOWN_NAMES) {
        str_printf(&r->examples, "%s'%.80s'", r->left_out > 1 ? ", " : "", name);
    }
    mem_free(path);
    return st;
}

static pgy_status warn(folder_reader *r, pgy_error *err)
{
    str text = {0};
    if (!r->left_out) return PGY_OK;
    str_printf(&text, "'%.200s': %zu of its entries are no results and are left out: %s%s", r->path,
               r->left_out, str_text(&r->examples), r->left_out > SHOWN_NAMES ? ", ..." : "");
    const bool done = !text.failed && strvec_push(&r->page->warnings, str_text(&text));
    str_deinit(&text);
    return done ? PGY_OK : no_memory(err);
}

static pgy_status add_folder(pgy_page *p, const char *path, size_t owner, pgy_error *err)
{
    folder_reader r = {.page = p, .path = path, .owner = owner};
    strvec names = {0};
    pgy_status st = file_list_dir(&names, path, NULL, err);
    if (!st && names.count > MOST_FILES)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "'%s' has %zu entries; give a folder of at most %d, or single files",
                           path, names.count, MOST_FILES);
    for (size_t i = 0; i < names.count && !st; i++) {
        if (names.items[i][0] != '.') st = add_one(&r, names.items[i], err);
        if (!st) st = cancel_check(err);
    }
    if (!st && !r.added)
        st = pgy_error_set(err, PGY_E_FORMAT,
                           "'%s' is a folder without a file of results; give a model, a plan, or "
                           "files of results",
                           path);
    if (!st) st = warn(&r, err);
    str_deinit(&r.examples);
    strvec_deinit(&names);
    return st;
}

pgy_status page_path_add(pgy_page *p, const char *path, const char *name, size_t owner,
                         pgy_error *err)
{
    bool is_run = false;
    if (!file_is_dir(path)) return page_file_add(p, path, name, owner, err);
    const pgy_status st = is_run_folder(&is_run, path, err);
    if (st) return st;
    return is_run ? page_file_add(p, path, name, owner, err) : add_folder(p, path, owner, err);
}
