// SPDX-License-Identifier: Apache-2.0
// Positions of what is shown. The layouts of the containers, made by the C side, fix rows and orders; here their items get new coordinates when
// sizes have changed, and the containers are put into each other. Works in steps, so that the page can draw between them.

import {CONTAINER, ITEM, STATE, childrenOf} from './data.js';
import {instanceOf, isCallNode, stateOf} from './fold.js';

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
 * What is shown, in content coordinates. Frames stand before those inside them.
 * @typedef {Object} Scene
 * @property {number} w
 * @property {number} h
 * @property {boolean} horizontal
 * @property {Card[]} cards
 * @property {Frame[]} frames
 * @property {Edge[]} edges
 * @property {Map<number, number>} cardOfNode  index in `cards`
 * @property {Map<number, number>} cardOfContainer
 * @property {Map<number, number>} frameOfContainer
 */

/** @typedef {{item: Shown, x: number, y: number, w: number, h: number, group: number, row: number}} Card  left, top; `group`: container of its layout */
/** @typedef {{container: number, x: number, y: number, w: number, h: number, depth: number}} Frame */
/** @typedef {{tensor: number, points: Float32Array, arrow: boolean, tunnel: boolean, label: boolean, depth: number}} Edge  x, y pairs; direction of the flow */

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
const SLICE = 512;

/** @param {Graph} g @param {number} c @returns {{layout: Layout, ref: number[], tensor: number[]} | null} */
export function layoutOf(g, c) {
    const own = g.container.layout[c];
    if (!own) return null;
    if (own.like === undefined || own.like < 0) return {layout: own, ref: own.ref, tensor: own.edges.map((e) => e[0])};
    const first = g.container.layout[own.like];
    return first ? {layout: first, ref: own.ref, tensor: own.tensor || first.edges.map((e) => e[0])} : null;
}

/** @param {Graph} g @param {Arrangement} a @returns {Generator<void, Scene, void>} */
export function* arrange(g, a) {
    const plan = yield* planOf(g, a, a.folding.root);
    /** @type {Scene} */
    const scene = {
        w: a.horizontal ? plan.h : plan.w,
        h: a.horizontal ? plan.w : plan.h,
        horizontal: a.horizontal,
        cards: [],
        frames: [],
        edges: [],
        cardOfNode: new Map(),
        cardOfContainer: new Map(),
        frameOfContainer: new Map(),
    };
    yield* place(g, a, scene, plan, 0, 0, 0);
    return scene;
}

/**
 * All steps at once.
 * @template T
 * @param {Generator<void, T, void>} steps
 * @returns {T}
 */
export function finish(steps) {
    for (;;) {
        const step = steps.next();
        if (step.done) return step.value;
    }
}

// ---- One container ----------------------------------------------------------------------------------------------------------------------

/** @param {Graph} g @param {Arrangement} a @param {number} c @returns {Generator<void, Plan, void>} */
function* planOf(g, a, c) {
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

// ---- All of them ------------------------------------------------------------------------------------------------------------------------

/**
 * Puts a plan into the scene.
 * @param {Graph} g
 * @param {Arrangement} a
 * @param {Scene} scene
 * @param {Plan} plan
 * @param {number} across  of its left edge
 * @param {number} along
 * @param {number} depth
 * @returns {Generator<void, void, void>}
 */
function* place(g, a, scene, plan, across, along, depth) {
    const {layout, ref} = plan;
    for (let i = 0; i < ref.length; i++) {
        if (plan.hidden[i] || layout.kind[i] > ITEM.container) continue;
        if (i % SLICE === SLICE - 1) yield;
        const u = across + plan.x[i] - plan.across[i] / 2;
        const v = along + topOf(plan, i);
        const box = a.horizontal ? {x: v, y: u, w: plan.along[i], h: plan.across[i]} : {x: u, y: v, w: plan.across[i], h: plan.along[i]};
        const inside = plan.inside[i];
        if (inside) {
            scene.frameOfContainer.set(ref[i], scene.frames.length);
            scene.frames.push({container: ref[i], ...box, depth});
            yield* place(g, a, scene, inside, u + FRAME + (a.horizontal ? HEADER : 0), v + FRAME + (a.horizontal ? 0 : HEADER), depth + 1);
        } else {
            addCard(g, scene, {item: {kind: layout.kind[i] === ITEM.node ? 'node' : 'container', id: ref[i]}, ...box, group: plan.container, row: layout.row[i]});
        }
    }
    yield* placeEdges(g, a, scene, plan, across, along, depth);
}

/** @param {Graph} g @param {Scene} scene @param {Card} card */
function addCard(g, scene, card) {
    if (card.item.kind === 'node') {
        scene.cardOfNode.set(card.item.id, scene.cards.length);
    } else {
        scene.cardOfContainer.set(card.item.id, scene.cards.length);
        const node = g.container.node[card.item.id];
        if (node >= 0 && isCallNode(g, node)) scene.cardOfNode.set(node, scene.cards.length);
    }
    scene.cards.push(card);
}

/** @param {Plan} plan @param {number} i */
function topOf(plan, i) {
    const r = plan.layout.row[i];
    return plan.y[r] + (plan.height[r] - plan.along[i]) / 2;
}

/**
 * @param {Graph} g
 * @param {Arrangement} a
 * @param {Scene} scene
 * @param {Plan} plan
 * @param {number} across
 * @param {number} along
 * @param {number} depth
 * @returns {Generator<void, void, void>}
 */
function* placeEdges(g, a, scene, plan, across, along, depth) {
    const {layout} = plan;
    const slots = yield* slotsOf(plan);
    const kindOfContainer = g.container.kind[plan.container];
    const isBody = kindOfContainer === CONTAINER.body || kindOfContainer === CONTAINER.call;
    const labelled = new Set();
    for (let e = 0; e < layout.edges.length; e++) {
        if (e % SLICE === SLICE - 1) yield;
        const [, from, to, ...bends] = layout.edges[e];
        if (plan.hidden[from] || plan.hidden[to]) continue;
        const tensor = plan.tensor[e];
        const points = [...endOf(a, plan, from, tensor, slots.out[e], true)];
        for (const b of bends) {
            const r = layout.row[b];
            points.push(plan.x[b], plan.y[r], plan.x[b], plan.y[r] + plan.height[r]);
        }
        points.push(...endOf(a, plan, to, tensor, slots.in[e], false));
        const moved = new Float32Array(points.length);
        for (let k = 0; k < points.length; k += 2) {
            moved[k] = a.horizontal ? points[k + 1] + along : points[k] + across;
            moved[k + 1] = a.horizontal ? points[k] + across : points[k + 1] + along;
        }
        const enters = layout.kind[from] === ITEM.enter;
        scene.edges.push({
            tensor,
            points: moved,
            arrow: layout.kind[to] !== ITEM.leave && plan.inside[to] === null,
            tunnel: (isBody && enters) || isTunnelInto(g, plan, to, tensor),
            label: layout.kind[from] <= ITEM.container && plan.inside[from] === null && !labelled.has(tensor),
            depth,
        });
        labelled.add(tensor);
    }
}

/**
 * True if a tensor is used inside a call without being an input of its node.
 * @param {Graph} g
 * @param {Plan} plan
 * @param {number} to
 * @param {number} tensor
 */
function isTunnelInto(g, plan, to, tensor) {
    if (plan.layout.kind[to] !== ITEM.container || g.container.kind[plan.ref[to]] !== CONTAINER.call) return false;
    const node = g.container.node[plan.ref[to]];
    return node >= 0 && !g.node.inputs[node].includes(tensor);
}

/**
 * Where an edge meets an item.
 * @param {Arrangement} a
 * @param {Plan} plan
 * @param {number} i
 * @param {number} tensor
 * @param {number} slot  from the item's centre
 * @param {boolean} leaves
 * @returns {number[]} across, along of one or two points
 */
function endOf(a, plan, i, tensor, slot, leaves) {
    const kind = plan.layout.kind[i];
    if (kind === ITEM.enter) return [plan.x[i], -FRAME];
    if (kind === ITEM.leave) return [plan.x[i], plan.h + FRAME];
    const side = topOf(plan, i) + (leaves ? plan.along[i] : 0);
    const row = plan.layout.row[i];
    const border = plan.y[row] + (leaves ? plan.height[row] : 0); // straight through the rest of the row, past higher neighbours
    const inside = plan.inside[i];
    let across = plan.x[i] + slot;
    if (inside) {
        const port = portOf(inside, tensor, leaves);
        across = port < 0 || inside.hidden[port] ? plan.x[i] : plan.x[i] - plan.across[i] / 2 + FRAME + (a.horizontal ? HEADER : 0) + inside.x[port];
    }
    if (Math.abs(border - side) < 1) return [across, side];
    return leaves ? [across, side, across, border] : [across, border, across, side];
}

/** @type {WeakMap<Plan, Map<number, number>[]>} */
const portsIndex = new WeakMap();

/**
 * The item of the port of a tensor, -1: none.
 * @param {Plan} plan
 * @param {number} tensor
 * @param {boolean} leaves
 */
function portOf(plan, tensor, leaves) {
    const given = leaves ? plan.leave : plan.enter;
    if (given) return given.get(tensor) ?? -1;
    let ports = portsIndex.get(plan);
    if (!ports) {
        ports = [new Map(), new Map()];
        for (let i = 0; i < plan.ref.length; i++) {
            const kind = plan.layout.kind[i];
            if (kind === ITEM.enter || kind === ITEM.leave) ports[kind - ITEM.enter].set(plan.ref[i], i);
        }
        portsIndex.set(plan, ports);
    }
    return ports[leaves ? 1 : 0].get(tensor) ?? -1;
}

/**
 * Spreads the edges of each item, so that they do not cross where they meet it. Edges of one tensor leave at one place.
 * @param {Plan} plan
 */
function* slotsOf(plan) {
    const {edges} = plan.layout;
    const slots = {in: new Float64Array(edges.length), out: new Float64Array(edges.length)};
    /** @type {Map<number, number[]>} */
    const into = new Map();
    /** @type {Map<number, number[]>} */
    const outOf = new Map();
    edges.forEach(([, from, to], e) => {
        if (plan.hidden[from] || plan.hidden[to]) return;
        const [i, o] = [into.get(to), outOf.get(from)];
        if (i) i.push(e);
        else into.set(to, [e]);
        if (o) o.push(e);
        else outOf.set(from, [e]);
    });
    yield;
    let done = 0;
    for (const [i, list] of into) {
        if (++done % SLICE === 0) yield;
        const x = (/** @type {number} */ e) => plan.x[edges[e].length > 3 ? edges[e][edges[e].length - 1] : edges[e][1]];
        list.sort((a, b) => x(a) - x(b) || a - b);
        const step = stepOf(plan, i, list.length);
        list.forEach((e, k) => (slots.in[e] = (k - (list.length - 1) / 2) * step));
    }
    for (const [i, list] of outOf) {
        if (++done % SLICE === 0) yield;
        const x = (/** @type {number} */ e) => plan.x[edges[e].length > 3 ? edges[e][3] : edges[e][2]];
        list.sort((a, b) => x(a) - x(b) || a - b);
        const tensors = [...new Set(list.map((e) => plan.tensor[e]))];
        const step = stepOf(plan, i, tensors.length);
        for (const e of list) slots.out[e] = (tensors.indexOf(plan.tensor[e]) - (tensors.length - 1) / 2) * step;
    }
    return slots;
}

/** @param {Plan} plan @param {number} i @param {number} count */
function stepOf(plan, i, count) {
    return Math.min(14, Math.max(0, plan.across[i] - 24) / Math.max(count - 1, 1));
}
