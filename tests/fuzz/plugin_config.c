/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin configurations: what is read is written, read again and written again; both texts must be
 * equal. Shard hints are read from the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <polygraphy/plugin.h>
#include <polygraphy/shard.h>

#include "base/file.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *path;

static void save(str *out, const pgy_plugin_config *c)
{
    if (pgy_plugin_config_save(c, path, NULL) || file_read(out, path, NULL)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pgy_plugin_config *first = NULL, *second = NULL;
    pgy_shard_hints *hints = NULL;
    str a = {0}, b = {0};
    if (!path && file_temp_path(&path, ".yaml", NULL)) abort();
    if (!pgy_plugin_config_parse(&first, "input", data, size, NULL)) {
        save(&a, first);
        if (pgy_plugin_config_parse(&second, "again", str_text(&a), a.size, NULL)) abort();
        save(&b, second);
        if (a.size != b.size || memcmp(str_text(&a), str_text(&b), a.size) != 0) abort();
    }
    if (!pgy_shard_hints_parse(&hints, "input", data, size, NULL)) pgy_shard_hints_destroy(hints);
    pgy_plugin_config_destroy(first);
    pgy_plugin_config_destroy(second);
    str_deinit(&a);
    str_deinit(&b);
    return 0;
}
