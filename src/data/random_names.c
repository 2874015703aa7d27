/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what the options of generated inputs give an input, and warns of names that no input has.
 */
#include "data/random_names.h"

#include <string.h>

#include "base/log.h"
#include "base/str.h"

static const char LOG_PATH[] = "comparator/data_loader.py";

bool random_name_fits(const char *given, const char *input)
{
    return !strcmp(given, input) || str_match_wildcard(given, input);
}

const pgy_tensor_info *random_find_given(const pgy_metadata *given, const char *input)
{
    const pgy_tensor_info *found = NULL;
    for (size_t i = 0; given && i < pgy_metadata_count(given); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(given, i);
        if (random_name_fits(info->name, input)) found = info;
    }
    return found;
}

static void warn_shape(const char *given, const pgy_metadata *inputs)
{
    const char *similar = NULL;
    for (size_t i = 0; i < pgy_metadata_count(inputs); i++) {
        const char *name = pgy_metadata_at(inputs, i)->name;
        if (random_name_fits(given, name)) return;
        if (str_contains_nocase(name, given) || str_contains_nocase(given, name)) similar = name;
    }
    LOG(WARNING,
        "Input tensor: %s | Metadata was provided, but the input does not exist in one or more "
        "runners.%s%s",
        given, similar ? "\nMaybe you meant to set: " : "", similar ? similar : "");
}

void random_warn_unmatched(const pgy_metadata *given, const pgy_value_range *ranges,
                           size_t range_count, const pgy_metadata *inputs)
{
    for (size_t i = 0; given && i < pgy_metadata_count(given); i++)
        warn_shape(pgy_metadata_at(given, i)->name, inputs);
    for (size_t i = 0; i < range_count; i++)
        if (ranges[i].name && ranges[i].name[0] && !pgy_metadata_find(inputs, ranges[i].name))
            LOG(WARNING, "Extra items in val_range: '%s' is not an input", ranges[i].name);
}
