/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A vote of three runners: names, for each tensor, the side that differs from the other two, and
 * how far it is from the float64 reference.
 *
 *     const pgy_where_side *sides[3] = {&a, &b, &c};
 *     pgy_vote *vote = NULL;
 *     if (pgy_vote_run(&vote, sides, NULL, &err)) ...
 *     const pgy_vote_tensor *t = pgy_vote_first(vote);
 *     if (t && t->odd >= 0) printf("%s: side %c is wrong\n", t->name, 'A' + t->odd);
 *     pgy_vote_destroy(vote);
 *
 * Each pair of sides is compared by pgy_where. The referee is a side that is the float64 reference,
 * else one more runner.
 */
#ifndef POLYGRAPHY_VOTE_H
#define POLYGRAPHY_VOTE_H

#include <polygraphy/where.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    PGY_VOTE_AGREED = -1,   /**< no pair differs */
    PGY_VOTE_UNDECIDED = -2 /**< no two sides agree, or a pair was not compared */
};

/** One tensor of a vote. Errors are relative to the largest magnitude; NaN: unknown. */
typedef struct pgy_vote_tensor {
    const char *name; /**< on side A; inside a loop with the worst iteration of the pair */
    const char *node, *op_type; /**< node of side C's model if C is the odd one, else of side B's */
    int odd;                    /**< 0, 1 or 2: side A, B or C; or one of the values above */
    double ab, ac, bc;          /**< differences of the pairs */
    double referee[3];          /**< distance of each side from the referee */
    double margin;    /**< distance of the odd one, in units of the larger one of the others */
    const char *note; /**< "" if there is nothing to say */
    bool differs;     /**< a pair differs, also if another was not compared */
    const int64_t *iterations; /**< iterations of the loops around it, outermost first */
    size_t iteration_count;
} pgy_vote_tensor;

typedef struct pgy_vote pgy_vote;

/** Compares three sides. @param options NULL for the defaults. @return PGY_E_CANCELLED sets *out as
 * well if tensors were compared before; its failures say that it is not complete */
PGY_API PGY_MUST_CHECK pgy_status pgy_vote_run(pgy_vote **out, const pgy_where_side *const sides[3],
                                               const pgy_where_options *options, pgy_error *err);
PGY_API void pgy_vote_destroy(pgy_vote *v); /**< NULL is fine */
/** True if tensors were compared, no pair differs, and all outputs were compared. */
PGY_API bool pgy_vote_passed(const pgy_vote *v);
PGY_API size_t pgy_vote_count(const pgy_vote *v);
/** Tensors that sides A and B share, in topological order. */
PGY_API const pgy_vote_tensor *pgy_vote_at(const pgy_vote *v, size_t i);
/** The first tensor on which a pair differs; NULL: none. */
PGY_API const pgy_vote_tensor *pgy_vote_first(const pgy_vote *v);
/** Failures besides tensors that differ, such as outputs without a counterpart. */
PGY_API size_t pgy_vote_failure_count(const pgy_vote *v);
PGY_API const char *pgy_vote_failure(const pgy_vote *v, size_t i);
/** Text for people. Free with pgy_text_free. `next`: a command that continues; NULL: none. */
PGY_API PGY_MUST_CHECK pgy_status pgy_vote_text(char **out, const pgy_vote *v, const char *next,
                                                pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_vote_save(const pgy_vote *v, const char *path,
                                                const char *next, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
