/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Tactic replays: files that name the kernel of each layer of a build. `save_tactics` of
 * pgy_build_config writes one, and a build with `load_tactics` follows it. The original's files can
 * be read, too.
 *
 *     pgy_tactic_replay *replay = NULL;
 *     if (pgy_tactic_replay_load(&replay, "replay.json", &err)) ...
 *     for (size_t i = 0; i < pgy_tactic_replay_count(replay); i++)
 *         puts(pgy_tactic_replay_at(replay, i)->name);
 *     pgy_tactic_replay_destroy(replay);
 *
 * To find the kernel that makes results wrong, build several times, keep the replay of each build
 * with the good or with the bad ones, and compare the two sets:
 *
 *     pgy_tactic_set *good = NULL, *bad = NULL;
 *     pgy_tactic_suspects *suspects = NULL;
 *     if (pgy_tactic_set_load(&good, "good/", &err)) ...
 *     if (pgy_tactic_set_load(&bad, "bad/", &err)) ...
 *     if (pgy_tactic_suspects_find(&suspects, good, bad, &err)) ...
 */
#ifndef POLYGRAPHY_TACTICS_H
#define POLYGRAPHY_TACTICS_H

#include <polygraphy/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- One file ------------------------------------------------------------------------------- */

typedef struct pgy_tactic_replay pgy_tactic_replay;

/** An input or output of a layer. Numbers are kept as their decimal digits: TensorRT's may not fit
 * 64 bits. */
typedef struct pgy_tactic_operand {
    const char *dtype; /**< type as in the file: "DataType.FLOAT" */
    const char *const *strides;
    size_t stride_count;
    const char *vectorized_dim;         /**< NULL in files of TensorRT before 8.6 */
    const char *components_per_element; /**< NULL in files of TensorRT before 8.6 */
} pgy_tactic_operand;

typedef struct pgy_tactic_layer {
    const char *name;
    const char *implementation; /**< digits; of the built-in engine: a hash of the kernel's name */
    const char *tactic;         /**< digits; of the built-in engine: the kernel's version */
    const char *kernel;         /**< name of the kernel; NULL: the file does not give it */
    const pgy_tactic_operand *inputs, *outputs; /**< tensors of the layer, without constants */
    size_t input_count, output_count;
} pgy_tactic_layer;

/** @return PGY_E_NOT_FOUND, PGY_E_IO; PGY_E_FORMAT: not a tactic replay, or a layer cannot be read;
 * the text names the line */
PGY_API PGY_MUST_CHECK pgy_status pgy_tactic_replay_load(pgy_tactic_replay **out, const char *path,
                                                         pgy_error *err);
PGY_API void pgy_tactic_replay_destroy(pgy_tactic_replay *r); /**< NULL is fine */
/** Layers in the order of the file; their texts belong to the replay. */
PGY_API size_t pgy_tactic_replay_count(const pgy_tactic_replay *r);
PGY_API const pgy_tactic_layer *pgy_tactic_replay_at(const pgy_tactic_replay *r, size_t i);

/** Describes a layer's algorithm: "(Implementation: 1, Tactic: 2) | Inputs: (...) | Outputs:
 * (...)". Two layers with the same text have the same algorithm. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_tactic_layer_text(char **out, const pgy_tactic_layer *layer,
                                                        pgy_error *err);
/** Writes name and algorithm of every layer, as `polygraphy inspect tactics` shows them. Free with
 * pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_tactic_replay_text(char **out, const pgy_tactic_replay *r,
                                                         pgy_error *err);

/* ---- Sets of files -------------------------------------------------------------------------- */

typedef struct pgy_tactic_set pgy_tactic_set;

/** Reads a file, or all files of a folder and its subfolders except hidden ones. A file that is not
 * a replay is skipped, with a warning in the log. A set without replays is not an error, nor is a
 * path that does not exist. */
PGY_API PGY_MUST_CHECK pgy_status pgy_tactic_set_load(pgy_tactic_set **out, const char *path,
                                                      pgy_error *err);
PGY_API void pgy_tactic_set_destroy(pgy_tactic_set *s); /**< NULL is fine */
/** Number of files that are replays; pgy_tactic_set_paths gives their paths. */
PGY_API size_t pgy_tactic_set_count(const pgy_tactic_set *s);
PGY_API const char *const *pgy_tactic_set_paths(const pgy_tactic_set *s);
/** How many files were skipped. */
PGY_API size_t pgy_tactic_set_skipped(const pgy_tactic_set *s);

/* ---- Suspects ------------------------------------------------------------------------------- */

typedef struct pgy_tactic_suspects pgy_tactic_suspects;

/** A layer, and the algorithms that it has in a bad replay but in no good one. */
typedef struct pgy_tactic_suspect {
    const char *layer;
    const char *const *algorithms; /**< algorithms as pgy_tactic_layer_text writes them */
    size_t algorithm_count;
} pgy_tactic_suspect;

/** Finds the suspects. The sets may be destroyed afterwards. */
PGY_API PGY_MUST_CHECK pgy_status pgy_tactic_suspects_find(pgy_tactic_suspects **out,
                                                           const pgy_tactic_set *good,
                                                           const pgy_tactic_set *bad,
                                                           pgy_error *err);
PGY_API void pgy_tactic_suspects_destroy(pgy_tactic_suspects *s); /**< NULL is fine */
/** Number of suspects, in the order in which the bad replays name the layers; 0: the replays give
 * no hint. */
PGY_API size_t pgy_tactic_suspects_count(const pgy_tactic_suspects *s);
PGY_API const pgy_tactic_suspect *pgy_tactic_suspects_at(const pgy_tactic_suspects *s, size_t i);
/** Writes {"suspects": [{"layer": name, "algorithms": [text...]}...]}. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_tactic_suspects_json(char **out, const pgy_tactic_suspects *s,
                                                           pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
