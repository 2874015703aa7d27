// SPDX-License-Identifier: Apache-2.0
// Products of up to 32 rows with weights of 4 bits (nbits.cu), which the device's memory delivers. A warp computes 16 columns, or shares
// them with the other warps of SHARE neighbours, each with its groups of 64 k; parts are added in a fixed order. BATCH groups of weights
// are under way for each thread, the first ones before the kernel in front of this one has ended; X of AHEAD groups is read at a time.
//
// ROWS: of X, EIGHTS times eight of them; BLOCKS: that a multiprocessor shall run at the same time.
enum { FEW_THREADS = 256, FEW_WARPS = FEW_THREADS / 32, TEAMS = FEW_WARPS / SHARE };

KERNEL_CLUSTER(run, nbits, FEW_THREADS, BLOCKS, 1)
{
    SHARED float room[FEW_WARPS][EIGHTS * 8][TILE + 1];
    const uint32_t lane = THREAD % 32, warp = THREAD / 32, tile = BLOCK_X * TEAMS + warp / SHARE, first = warp % SHARE;
    cursor at = find(&a, tile, first);
    weights coming[BATCH];
    const IN *line[EIGHTS];
    int left[EIGHTS];
    float sum[EIGHTS][4];
    UNROLL for (uint32_t b = 0; b < BATCH; b++) bring(&coming[b], &a, &at, b * SHARE);
    UNROLL for (int i = 0; i < EIGHTS; i++) UNROLL for (int e = 0; e < 4; e++) sum[i][e] = 0;
    UNROLL for (uint32_t i = 0; i < EIGHTS; i++) {
        const uint32_t row = i * 8 + lane / 4, k = first * GROUP + first_k(0);
        line[i] = a.x + (uint64_t)row * a.k + k;
        left[i] = row < a.m ? (int)(a.k - k) : -(1 << 30);
    }
    WAIT_FOR_LAST();
    for (uint32_t from = first; from < a.groups; from += BATCH * SHARE) {
        UNROLL for (uint32_t b = 0; b < BATCH; b += AHEAD) {
            fragment x[AHEAD][2][EIGHTS];
            UNROLL for (uint32_t i = 0; i < AHEAD; i++)
                UNROLL for (uint32_t h = 0; h < 2; h++)
                    UNROLL for (uint32_t e = 0; e < EIGHTS; e++) {
                        const uint32_t k = (b + i) * SHARE * GROUP + h * HALF;
                        read_x(&x[i][h][e], line[e] + k, left[e] - (int)k);
                    }
            UNROLL for (uint32_t i = 0; i < AHEAD; i++) {
                const weights w = coming[b + i];
                bring(&coming[b + i], &a, &at, (BATCH + b + i) * SHARE);
                UNROLL for (uint32_t h = 0; h < 2; h++) add_half(sum, EIGHTS, &w, h, x[i][h]);
            }
        }
        go_on(&at, BATCH * SHARE);
        UNROLL for (int i = 0; i < EIGHTS; i++) {
            line[i] += BATCH * SHARE * GROUP;
            left[i] -= BATCH * SHARE * GROUP;
        }
    }
    UNROLL for (uint32_t i = 0; i < EIGHTS; i++)
        UNROLL for (uint32_t e = 0; e < 4; e++) room[warp][i * 8 + lane % 4 * 2 + e % 2][lane / 4 + e / 2 * 8] = sum[i][e];
    BARRIER();
    for (uint32_t i = THREAD; i < TEAMS * TILE * ROWS; i += FEW_THREADS) {
        const uint32_t column = i % TILE, team = i / TILE % TEAMS, row = i / (TILE * TEAMS), n = (BLOCK_X * TEAMS + team) * TILE + column;
        float total = 0;
        UNROLL for (uint32_t s = 0; s < SHARE; s++) total += room[team * SHARE + s][row][column];
        if (n < a.n) a.y[(uint64_t)row * a.n + n] = NARROW(Y, result(&a, n, total));
    }
}
