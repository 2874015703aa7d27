// SPDX-License-Identifier: Apache-2.0
// Positions of what is shown. The layouts of the containers, made by the C side, fix rows and orders; here their items get new coordinates when
// sizes have changed, and the containers are put into each other. Works in steps, so that the page can draw between them.

import {CONTAINER, ITEM} from './data.js';
import {isCallNode} from './fold.js';
import {FRAME, HEADER, SLICE, planOf} from './plan.js';

/** @typedef {import('./data.js').Graph} Graph */
/** @typedef {import('./fold.js').Shown} Shown */
/** @typedef {import('./plan.js').Arrangement} Arrangement */
/** @typedef {import('./plan.js').Plan} Plan */

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

// ---- Cards, frames and edges ------------------------------------------------------------------------------------------------------------------------

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
