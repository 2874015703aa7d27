// SPDX-License-Identifier: Apache-2.0
// What is under a point of the picture.

/** @typedef {import('./arrange.js').Scene} Scene */
/** @typedef {import('./arrange.js').Edge} Edge */
/** @typedef {import('./canvas.js').Index} Index */

/** @param {Scene} scene @param {Index} index @param {number} x @param {number} y @returns {number} card, -1: none */
export function cardAt(scene, index, x, y) {
    for (const i of index.cards.find({x, y, w: 0, h: 0}).reverse()) {
        const c = scene.cards[i];
        if (x >= c.x && x <= c.x + c.w && y >= c.y && y <= c.y + c.h) return i;
    }
    return -1;
}

/**
 * The innermost frame.
 * @param {Scene} scene
 * @param {Index} index
 * @param {number} x
 * @param {number} y
 * @returns {number} frame, -1: none
 */
export function frameAt(scene, index, x, y) {
    for (const i of index.frames.find({x, y, w: 0, h: 0}).reverse()) {
        const f = scene.frames[i];
        if (x >= f.x && x <= f.x + f.w && y >= f.y && y <= f.y + f.h) return i;
    }
    return -1;
}

/** @param {Scene} scene @param {Index} index @param {number} x @param {number} y @param {number} reach @returns {number} edge, -1: none */
export function edgeAt(scene, index, x, y, reach) {
    let best = -1;
    let least = reach;
    for (const i of index.edges.find({x: x - reach, y: y - reach, w: 2 * reach, h: 2 * reach})) {
        const distance = distanceTo(scene.edges[i], scene.horizontal, x, y);
        if (distance < least) [best, least] = [i, distance];
    }
    return best;
}

/** @param {Edge} edge @param {boolean} horizontal @param {number} x @param {number} y */
function distanceTo(edge, horizontal, x, y) {
    const p = edge.points;
    let least = Infinity;
    for (let k = 2; k < p.length; k += 2) {
        let [px, py] = [p[k - 2], p[k - 1]];
        for (let n = 1; n <= 8; n++) {
            const t = n / 8;
            const ease = t * t * (3 - 2 * t); // close to the curve that is drawn
            const qx = p[k - 2] + (p[k] - p[k - 2]) * (horizontal ? t : ease);
            const qy = p[k - 1] + (p[k + 1] - p[k - 1]) * (horizontal ? ease : t);
            least = Math.min(least, distanceToLine(x, y, px, py, qx, qy));
            [px, py] = [qx, qy];
        }
    }
    return least;
}

/** @param {number} x @param {number} y @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
function distanceToLine(x, y, x0, y0, x1, y1) {
    const [dx, dy] = [x1 - x0, y1 - y0];
    const length = dx * dx + dy * dy;
    const t = length ? Math.min(Math.max(((x - x0) * dx + (y - y0) * dy) / length, 0), 1) : 0;
    return Math.hypot(x - x0 - t * dx, y - y0 - t * dy);
}
