/* SPDX-License-Identifier: Apache-2.0 */
/* What an input of a decoder is for: exporters agree on a few names. */
#include <string.h>

#include "decode/decode.h"

/* Names of torch's examples, Optimum, onnxruntime-genai, and of ONNX Runtime's own converters. */
static const struct {
    const char *name;
    decode_role role;
} NAMES[] = {
    {"decoder_input_ids", ROLE_TOKENS},
    {"input_ids", ROLE_TOKENS},
    {"tokens", ROLE_TOKENS},
    {"token_ids", ROLE_TOKENS},
    {"input_tokens", ROLE_TOKENS},
    {"position_ids", ROLE_POSITIONS},
    {"decoder_position_ids", ROLE_POSITIONS},
    {"positions", ROLE_POSITIONS},
    {"cache_position", ROLE_POSITIONS},
    {"input_pos", ROLE_POSITIONS},
    {"attention_mask", ROLE_MASK},
    {"decoder_attention_mask", ROLE_MASK},
    {"causal_mask", ROLE_MASK},
    {"mask", ROLE_MASK},
    {"past_seq_len", ROLE_PAST_LENGTH},
    {"past_sequence_length", ROLE_PAST_LENGTH},
    {"past_key_values_length", ROLE_PAST_LENGTH},
    {"past_length", ROLE_PAST_LENGTH},
    {"start_pos", ROLE_PAST_LENGTH},
    {"offset", ROLE_PAST_LENGTH},
    {"total_seq_len", ROLE_TOTAL_LENGTH},
    {"total_sequence_length", ROLE_TOTAL_LENGTH},
    {"total_length", ROLE_TOTAL_LENGTH},
    {"seqlens_k", ROLE_LAST_INDEX},
    {"use_cache_branch", ROLE_USE_CACHE},
    {"encoder_attention_mask", ROLE_ONES},
    {"num_logits_to_keep", ROLE_ONES},
    {"logits_to_keep", ROLE_ONES},
    {"token_type_ids", ROLE_ZEROS},
};

/* The roles that options can name. */
static const struct {
    const char *name;
    decode_role role;
} ROLES[] = {
    {"tokens", ROLE_TOKENS},
    {"positions", ROLE_POSITIONS},
    {"mask", ROLE_MASK},
    {"past_length", ROLE_PAST_LENGTH},
    {"total_length", ROLE_TOTAL_LENGTH},
    {"last_index", ROLE_LAST_INDEX},
    {"use_cache", ROLE_USE_CACHE},
    {"constant", ROLE_CONSTANT},
    {"logits", ROLE_LOGITS},
};

decode_role role_of_input(const pgy_tensor_info *info)
{
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (!strcmp(NAMES[i].name, info->name)) {
            const decode_role role = NAMES[i].role;
            const bool typed = role == ROLE_MASK || role == ROLE_ONES || role == ROLE_USE_CACHE ||
                               pgy_dtype_is_integer(info->dtype);
            return typed ? role : ROLE_CONSTANT;
        }
    return ROLE_CONSTANT;
}

bool role_is_cache_name(const char *name)
{
    static const char *const WORDS[] = {"past", "cache", "state", "mems"};
    if (str_contains_nocase(name, "hidden_state")) return false; /* of an encoder */
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (str_contains_nocase(name, WORDS[i])) return true;
    return false;
}

pgy_status role_from_name(decode_role *out, const char *role, pgy_error *err)
{
    str known = {0};
    for (size_t i = 0; i < sizeof ROLES / sizeof *ROLES; i++) {
        if (!strcmp(ROLES[i].name, role)) {
            *out = ROLES[i].role;
            str_deinit(&known);
            return PGY_OK;
        }
        str_printf(&known, "%s%s", i ? ", " : "", ROLES[i].name);
    }
    const pgy_status st = pgy_error_set(err, PGY_E_ARGUMENT,
                                        "decode.roles: there is no role '%s'; expected one of %s",
                                        role, str_text(&known));
    str_deinit(&known);
    return st;
}
