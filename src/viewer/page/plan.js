// SPDX-License-Identifier: Apache-2.0
// New coordinates of one container's content (docs/formats/page.md, Arranging): its layout fixes rows and orders; sizes have changed.

import {CONTAINER, ITEM, STATE, childrenOf} from './data.js';
import {instanceOf, stateOf} from './fold.js';

/** @typedef {import('./data.js').Graph} Graph */
/** @typedef {import('./data.js').Layout} Layout */
/** @typedef {import('./fold.js').Folding} Folding */
/** @typedef {import('./fold.js').Shown} Shown */

/**
 * @typedef {Object} Arrangement
 * @property {Folding} folding
 * @property {boolean} horizontal
 * @property {(item: Shown) => {w: number, h: number}} size  of a card
 * @property {((item: Shown) => boolean) | null} keep  leaves out other items; null: keeps all
 */

/**
 * A container's content with new coordinates. `across` is the direction inside a row (x, if the picture is vertical), `along` is that of the flow.
 * @typedef {Object} Plan
 * @property {number} container  whose content it is
 * @property {Layout} layout
 * @property {number[]} ref
 * @property {number[]} tensor  of each edge
 * @property {Float64Array} x  centres, across
 * @property {Float64Array} across
 * @property {Float64Array} along
 * @property {Float64Array} y  tops of rows
 * @property {Float64Array} height  of rows
 * @property {Uint8Array} hidden
 * @property {(Plan | null)[]} inside  of items that are open containers
 * @property {number} w
 * @property {number} h
 * @property {Map<number, number> | null} enter  port of a tensor, if not that of `layout` itself
 * @property {Map<number, number> | null} leave
 */

export const FRAME = 10;
export const HEADER = 22;
const GAP = 20;
const LABEL_GAP = 84; // from left to right, labels stand between the cards
const SQUEEZE = 0.4; // cards are lower than wide
export const SLICE = 512;

/** @param {Graph} g @param {number} c @returns {{layout: Layout, ref: number[], tensor: number[]} | null} */
export function layoutOf(g, c) {
    const own = g.container.layout[c];
    if (!own) return null;
    if (own.like === undefined || own.like < 0) return {layout: own, ref: own.ref, tensor: own.edges.map((e) => e[0])};
    const first = g.container.layout[own.like];
    return first ? {layout: first, ref: own.ref, tensor: own.tensor || first.edges.map((e) => e[0])} : null;
}

/** @param {Graph} g @param {Arrangement} a @param {number} c @returns {Generator<void, Plan, void>} */
export function* planOf(g, a, c) {
    if (g.container.kind[c] === CONTAINER.repeat && stateOf(g, a.folding, c) === STATE.one) {
        const instances = childrenOf(g).containers[c];
        const plan = yield* planOf(g, a, instances[instanceOf(g, a.folding, c)]);
        return {...plan, enter: portsOfRepeat(g, instances, ITEM.enter), leave: portsOfRepeat(g, [...instances].reverse(), ITEM.leave)};
    }
    const own = layoutOf(g, c) || {layout: EMPTY, ref: [], tensor: []};
    const {layout, ref} = own;
    const count = layout.kind.length;
    /** @type {Plan} */
    const plan = {
        container: c,
        layout,
        ref,
        tensor: own.tensor,
        x: new Float64Array(count),
        across: new Float64Array(count),
        along: new Float64Array(count),
        y: new Float64Array(layout.y.length),
        height: new Float64Array(layout.y.length),
        hidden: new Uint8Array(count),
        inside: new Array(count).fill(null),
        w: 0,
        h: 0,
        enter: null,
        leave: null,
    };
    for (let i = 0; i < count; i++) {
        if (i % SLICE === SLICE - 1) yield;
        yield* measure(g, a, plan, i);
    }
    if (a.keep) hideEdges(plan);
    plan.w = yield* placeAcross(plan, a.keep ? 0 : a.horizontal ? SQUEEZE : 1);
    plan.h = placeAlong(plan, a.horizontal);
    yield;
    return plan;
}

/** @type {Layout} */
const EMPTY = {card: [0, 0], w: 0, h: 0, kind: [], ref: [], row: [], x: [], iw: [], ih: [], edges: [], y: []};

/**
 * Sets the size of an item.
 * @param {Graph} g
 * @param {Arrangement} a
 * @param {Plan} plan
 * @param {number} i
 * @returns {Generator<void, void, void>}
 */
function* measure(g, a, plan, i) {
    const kind = plan.layout.kind[i];
    const id = plan.ref[i];
    if (kind > ITEM.container) {
        plan.across[i] = plan.layout.iw[i];
        return;
    }
    /** @type {Shown} */
    const item = {kind: kind === ITEM.node ? 'node' : 'container', id};
    if (a.keep && !a.keep(item)) {
        plan.hidden[i] = 1;
        return;
    }
    let size;
    if (kind === ITEM.container && stateOf(g, a.folding, id) !== STATE.folded) {
        const inside = yield* planOf(g, a, id);
        plan.inside[i] = inside;
        size = {w: (a.horizontal ? inside.h : inside.w) + 2 * FRAME, h: (a.horizontal ? inside.w : inside.h) + 2 * FRAME + HEADER};
    } else {
        size = a.size(item);
    }
    plan.across[i] = a.horizontal ? size.h : size.w;
    plan.along[i] = a.horizontal ? size.w : size.h;
}

/**
 * Hides bends and ports that only hidden items need.
 * @param {Plan} plan
 */
function hideEdges(plan) {
    const {kind, edges} = plan.layout;
    const needed = new Uint8Array(kind.length);
    for (const [, from, to, ...bends] of edges) {
        if (plan.hidden[from] || plan.hidden[to]) continue;
        needed[from] = needed[to] = 1;
        for (const bend of bends) needed[bend] = 1;
    }
    kind.forEach((k, i) => {
        if (k > ITEM.container && !needed[i]) plan.hidden[i] = 1;
    });
}

/**
 * Computes x. Items that stood in a line stay in a line: all coordinates are mapped by one growing function.
 * @param {Plan} plan
 * @param {number} keep  how much of the distance between places stays, 0 to 1; 1: as docs/formats/page.md says
 * @returns {Generator<void, number, void>} the width
 */
function* placeAcross(plan, keep) {
    const {layout, hidden, across} = plan;
    const items = [];
    let isSame = keep === 1;
    for (let i = 0; i < hidden.length; i++) {
        if (hidden[i]) continue;
        items.push(i);
        if (across[i] !== layout.iw[i]) isSame = false;
    }
    if (isSame) {
        for (const i of items) plan.x[i] = layout.x[i];
        return layout.w;
    }
    const places = Float64Array.from(items, (i) => layout.x[i]).sort();
    let count = 0;
    for (const x of places) if (count === 0 || x > places[count - 1]) places[count++] = x;
    const at = new Map();
    for (let k = 0; k < count; k++) at.set(places[k], k);
    yield;
    const needs = needsOf(plan, items, at, count);
    yield;
    const mapped = solve(places, count, needs, keep);
    let start = Infinity;
    let end = 0;
    for (const i of items) {
        plan.x[i] = mapped[at.get(layout.x[i])];
        start = Math.min(start, plan.x[i] - across[i] / 2);
        end = Math.max(end, plan.x[i] + across[i] / 2);
    }
    for (const i of items) plan.x[i] -= start;
    return items.length ? end - start : 0;
}

/**
 * For each place pairs of an earlier place (-1: the left edge) and the distance from it.
 * @param {Plan} plan
 * @param {number[]} items
 * @param {Map<number, number>} at
 * @param {number} count
 * @returns {number[][]}
 */
function needsOf(plan, items, at, count) {
    const {layout, across} = plan;
    /** @type {number[][]} */
    const needs = Array.from({length: count}, () => []);
    let previous = -1;
    for (const i of items) {
        const place = at.get(layout.x[i]) ?? 0;
        if (previous >= 0 && layout.row[previous] === layout.row[i]) {
            const gap = layout.x[i] - layout.iw[i] / 2 - (layout.x[previous] + layout.iw[previous] / 2);
            const before = at.get(layout.x[previous]) ?? 0;
            if (before < place) needs[place].push(before, (across[previous] + across[i]) / 2 + Math.min(gap, GAP));
        } else {
            needs[place].push(-1, across[i] / 2);
        }
        previous = i;
    }
    return needs;
}

/**
 * The leftmost places that satisfy all needs; if distances need not stay, the middle between these and the rightmost.
 * @param {Float64Array} places
 * @param {number} count
 * @param {number[][]} needs
 * @param {number} keep
 * @returns {Float64Array}
 */
function solve(places, count, needs, keep) {
    const low = new Float64Array(count);
    for (let k = 0; k < count; k++) {
        if (k > 0) low[k] = low[k - 1] + keep * (places[k] - places[k - 1]);
        for (let n = 0; n < needs[k].length; n += 2) low[k] = Math.max(low[k], (needs[k][n] < 0 ? 0 : low[needs[k][n]]) + needs[k][n + 1]);
    }
    if (keep === 1) return low;
    const high = new Float64Array(count).fill(count ? low[count - 1] : 0);
    for (let k = count - 1; k >= 0; k--) {
        if (k > 0) high[k - 1] = Math.min(high[k - 1], high[k] - keep * (places[k] - places[k - 1]));
        for (let n = 0; n < needs[k].length; n += 2) if (needs[k][n] >= 0) high[needs[k][n]] = Math.min(high[needs[k][n]], high[k] - needs[k][n + 1]);
    }
    return low.map((v, k) => (v + high[k]) / 2);
}

/**
 * Computes tops and heights of rows; rows without items take no room.
 * @param {Plan} plan
 * @param {boolean} horizontal
 * @returns {number} the height
 */
function placeAlong(plan, horizontal) {
    const {layout, hidden, along} = plan;
    const rows = layout.y.length;
    const before = new Float64Array(rows);
    const used = new Uint8Array(rows);
    for (let i = 0; i < hidden.length; i++) {
        const r = layout.row[i];
        before[r] = Math.max(before[r], layout.ih[i]);
        if (hidden[i]) continue;
        used[r] = 1;
        plan.height[r] = Math.max(plan.height[r], along[i]);
    }
    let y = 0;
    let end = 0;
    for (let r = 0; r < rows; r++) {
        plan.y[r] = y;
        if (!used[r]) continue;
        end = y + plan.height[r];
        const gap = r + 1 < rows ? layout.y[r + 1] - layout.y[r] - before[r] : 0;
        y = end + (horizontal && !isPortRow(plan, r) && !isPortRow(plan, r + 1) ? Math.max(gap, LABEL_GAP) : gap);
    }
    return end;
}

/**
 * True if a row has nothing but ports.
 * @param {Plan} plan
 * @param {number} row
 */
function isPortRow(plan, row) {
    if (row !== 0 && row < plan.layout.y.length - 1) return false;
    const {kind, row: rows} = plan.layout;
    const at = row === 0 ? 0 : kind.length - 1;
    return rows[at] === row && (kind[at] === ITEM.enter || kind[at] === ITEM.leave);
}

/**
 * Ports of a repeat of which one instance is shown: the item by which a tensor enters or leaves some instance, the first wins.
 * @param {Graph} g
 * @param {number[]} instances
 * @param {number} kind
 * @returns {Map<number, number>}
 */
function portsOfRepeat(g, instances, kind) {
    const ports = new Map();
    for (const instance of instances) {
        const own = layoutOf(g, instance);
        if (!own) continue;
        own.layout.kind.forEach((k, i) => {
            if (k === kind && !ports.has(own.ref[i])) ports.set(own.ref[i], i);
        });
    }
    return ports;
}
