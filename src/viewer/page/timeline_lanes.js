// SPDX-License-Identifier: Apache-2.0
// The lanes of a timeline: which slices lie beside and inside each other, and which are seen.

/** @typedef {import('./data.js').Timeline} Timeline */

/**
 * Slices at one depth of a row: none overlaps another. Sorted by time.
 * @typedef {{row: number, depth: number, slices: Int32Array}} Lane
 */

/**
 * The lanes of all rows: a slice inside another lies one lane deeper.
 * @param {Timeline} timeline
 * @returns {Lane[]}
 */
export function timelineLanes(timeline) {
    const {row, start, duration} = timeline.slice;
    /** @type {number[][]} */
    const byRow = timeline.rows.map(() => []);
    for (let i = 0; i < row.length; i++) byRow[row[i]]?.push(i);
    return byRow.flatMap((slices, r) => {
        slices.sort((a, b) => start[a] - start[b] || duration[b] - duration[a] || a - b);
        /** @type {number[][]} */
        const lanes = [[]];
        /** @type {number[]} ends of the slices that are open at each depth */
        const ends = [];
        for (const slice of slices) {
            let depth = 0;
            while (depth < ends.length && ends[depth] > start[slice] + 1e-6) depth++;
            ends.length = depth;
            ends.push(start[slice] + duration[slice]);
            (lanes[depth] ??= []).push(slice);
        }
        return lanes.map((lane, depth) => ({row: r, depth, slices: Int32Array.from(lane)}));
    });
}

/**
 * The first slice of a lane that ends after a time.
 * @param {Lane} lane
 * @param {Timeline['slice']} slice
 * @param {number} time
 * @param {number} [from] where to begin
 */
export function firstAfter(lane, slice, time, from = 0) {
    let low = from;
    let high = lane.slices.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        const at = lane.slices[middle];
        if (slice.start[at] + slice.duration[at] <= time) low = middle + 1;
        else high = middle;
    }
    return low;
}

/**
 * Steps of the axis: 1, 2 or 5 times a power of ten.
 * @param {number} span
 * @param {number} most steps in it
 */
export function axisStep(span, most) {
    const least = span / Math.max(1, most);
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power;
}
