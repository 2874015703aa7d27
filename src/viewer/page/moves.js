// SPDX-License-Identifier: Apache-2.0
// What keys do to the picture: zoom, fold, open, and walk from card to card.

import {CONTAINER, STATE, childrenOf, data} from './data.js';
import {store} from './store.js';
import {bitsOf, canonicalOf, hasContent, instanceOf, marksOf, shownFor, stateOf} from './fold.js';
import {reveal, seen, zoomAt} from './camera.js';
import {nodesOfItem, toggled} from './pane.js';
import {ancestorsOf, consumersOf, descendantsOf, failingChain, markedOf, producersOf, sameType} from './walk.js';
import {say} from './describe.js';
import {graphView} from './graph_view.js';
import {enterRoot} from './show.js';
import {functionOf} from './look.js';

/** @typedef {import('./pane.js').Pane} Pane */
/** @typedef {import('./store.js').Item} Item */
/** @typedef {import('./store.js').State} State */

/** @param {number} factor */
export function zoomBy(factor) {
    const {camera, view} = graphView().panes[0];
    const {selected} = store.get();
    const box = selected && selected.kind !== 'tensor' ? graphView().panes[0].boxOf({kind: selected.kind, id: selected.id}) : null;
    const part = seen(camera, view);
    const isSeen = box && box.x < part.x + part.w && box.x + box.w > part.x && box.y < part.y + part.h && box.y + box.h > part.y;
    const at = box && isSeen ? {x: (box.x + box.w / 2 - camera.x) * camera.scale + view.w / 2, y: (box.y + box.h / 2 - camera.y) * camera.scale + view.h / 2} : {x: view.w / 2, y: view.h / 2};
    graphView().moveTo(zoomAt(camera, view, factor, at.x, at.y));
}

/** Out of an opened container. */
export function leaveRoot() {
    const {g} = graphView().panes[0];
    const {root} = store.get();
    if (root === 0) return;
    let out = g.container.parent[root];
    while (out > 0 && [CONTAINER.instance, CONTAINER.repeat, CONTAINER.call].includes(g.container.kind[out])) out = g.container.parent[out];
    enterRoot(Math.max(out, 0));
    const view = graphView();
    if (out >= 0) view.wanted = {kind: 'container', id: root, graph: view.panes[0].graph};
}

/** Enter: opens the selected container or function by itself; of other nodes, the sidebar. */
export function enterSelected() {
    const {selected} = store.get();
    const view = graphView();
    if (!selected || selected.kind === 'tensor') return;
    const canEnter = selected.kind === 'container' || functionOf(view.panes[0].g, selected.id) >= 0;
    if (canEnter) view.enter({kind: selected.kind, id: selected.id});
    else store.set({sidebar: true});
}

/**
 * Folds what the selection lies in, or unfolds it; without a selection all at the first level.
 * @param {boolean} isUnfold
 */
export function foldSelected(isUnfold) {
    const view = graphView();
    const pane = view.panes[0];
    const {g} = pane;
    const state = store.get();
    const {selected} = state;
    if (!selected || selected.graph !== pane.graph || selected.kind === 'tensor') return foldAll(isUnfold);
    let c = selected.kind === 'container' ? selected.id : -1;
    if (selected.kind === 'node') c = isUnfold ? (shownFor(g, state, {kind: 'node', id: selected.id})?.kind === 'container' ? g.node.parent[selected.id] : -1) : g.node.parent[selected.id];
    if (!isUnfold) {
        while (c > 0 && (c === state.root || g.container.kind[c] === CONTAINER.instance || stateOf(g, state, c) === STATE.folded)) c = g.container.parent[c];
        if (c <= 0 || c === state.root) return;
        view.fold(0, {states: toggled(g, state, c, STATE.folded)}, {kind: 'container', id: c});
        store.set({selected: {kind: 'container', id: c, graph: pane.graph}});
    } else if (c >= 0 && stateOf(g, state, c) === STATE.folded && hasContent(g, c)) {
        view.fold(0, {states: toggled(g, state, c, -1)}, {kind: 'container', id: c});
    }
}

/** @param {boolean} isUnfold */
function foldAll(isUnfold) {
    const pane = graphView().panes[0];
    const {g} = pane;
    const state = store.get();
    const states = new Map(state.states);
    const canonical = canonicalOf(g);
    if (isUnfold) {
        for (const card of pane.scene?.cards || []) {
            const {kind, id} = card.item;
            if (kind === 'container' && hasContent(g, id)) states.set(canonical[id], g.container.kind[id] === CONTAINER.repeat ? STATE.one : STATE.open);
        }
    } else {
        for (const c of childrenOf(g).containers[state.root]) states.set(canonical[c], STATE.folded);
    }
    graphView().fold(0, {states}, null);
}

/**
 * Walks from the selection: up to a producer, down to a consumer, left or right to a sibling.
 * @param {'up' | 'down' | 'left' | 'right'} direction
 */
export function step(direction) {
    const view = graphView();
    const state = store.get();
    const pane = view.isPair && state.selected?.graph === view.second ? view.panes[1] : view.panes[0];
    const {scene, g} = pane;
    if (!scene || scene.cards.length === 0) return;
    const next = state.selected && state.selected.graph === pane.graph ? nextCard(pane, state, state.selected, direction) : firstSeen(pane);
    if (next < 0) return say('nothing further ' + direction);
    const {item} = scene.cards[next];
    view.select({...item, graph: g.index}, false);
    const shift = pane === view.panes[1] ? view.shift : {x: 0, y: 0};
    const to = reveal(pane.camera, pane.view, scene.cards[next]);
    if (to.x !== pane.camera.x || to.y !== pane.camera.y) view.glideTo({...to, x: to.x - shift.x, y: to.y - shift.y});
}

/** @param {Pane} pane */
function firstSeen(pane) {
    const part = seen(pane.camera, pane.view);
    const cards = pane.scene?.cards || [];
    const found = cards.findIndex((c) => c.x >= part.x && c.x + c.w <= part.x + part.w && c.y >= part.y && c.y + c.h <= part.y + part.h);
    return found >= 0 ? found : 0;
}

/** @param {Pane} pane @param {State} state @param {Item} item @param {string} direction @returns {number} card, -1: none */
function nextCard(pane, state, item, direction) {
    const {g, scene} = pane;
    if (!scene) return -1;
    const here = pane.cardFor(state, item);
    const isAlong = direction === 'up' || direction === 'down';
    if (!isAlong) return here < 0 ? -1 : siblingOf(scene, here, direction === 'left' ? -1 : 1);
    if (item.kind === 'tensor') {
        const nodes = direction === 'up' ? [g.tensor.producer[item.id]] : nodesOfItem(g, {...item, kind: 'tensor'}).flatMap((n) => consumersOf(g, n));
        return nodes.map((n) => (n >= 0 ? pane.cardForNode(state, n) : -1)).find((c) => c >= 0) ?? -1;
    }
    const inside = new Set(nodesOfItem(g, item));
    /** @type {Set<number>} */
    const cards = new Set();
    for (const n of inside) {
        for (const m of direction === 'up' ? producersOf(g, n) : consumersOf(g, n)) {
            const card = inside.has(m) ? -1 : pane.cardForNode(state, m);
            if (card >= 0 && card !== here) cards.add(card);
        }
    }
    const from = here >= 0 ? scene.cards[here] : pane.boxOf({kind: item.kind === 'node' ? 'node' : 'container', id: item.id});
    const distance = (/** @type {number} */ c) => (from ? Math.hypot(scene.cards[c].x + scene.cards[c].w / 2 - from.x - from.w / 2, scene.cards[c].y - from.y) : c);
    return [...cards].sort((a, b) => distance(a) - distance(b))[0] ?? -1;
}

/**
 * The next card in the same row.
 * @param {import('./arrange.js').Scene} scene
 * @param {number} card
 * @param {number} side
 */
function siblingOf(scene, card, side) {
    const {group, row} = scene.cards[card];
    /** @type {number[]} */
    const inRow = [];
    scene.cards.forEach((c, i) => c.group === group && c.row === row && inRow.push(i));
    const across = (/** @type {number} */ i) => (scene.horizontal ? scene.cards[i].y : scene.cards[i].x);
    inRow.sort((a, b) => across(a) - across(b));
    return inRow[inRow.indexOf(card) + side] ?? -1;
}

// ---- Paths ------------------------------------------------------------------------------------------------------------------------------

/**
 * Highlights nodes; says how many there are.
 * @param {Item} item
 * @param {Set<number>} nodes
 * @param {string} what
 */
function highlight(item, nodes, what) {
    if (nodes.size > 0) store.set({path: markedOf(data.graph(item.graph), nodes)});
    say(nodes.size === 0 ? 'no ' + what : nodes.size + ' ' + what);
}

/**
 * Pressed twice, a walk is over.
 * @param {'ancestors' | 'descendants' | 'type' | 'chain'} walk
 */
export function followSelected(walk) {
    const {selected} = store.get();
    if (!selected) return say('select a node first');
    const g = data.graph(selected.graph);
    const nodes = nodesOfItem(g, selected);
    if (nodes.length === 0) return;
    if (walk === 'ancestors') highlight(selected, ancestorsOf(g, nodes), 'ancestors, with the selection');
    else if (walk === 'descendants') highlight(selected, descendantsOf(g, nodes), 'descendants, with the selection');
    else if (walk === 'type') highlight(selected, sameType(g, nodes[0]), 'nodes of the same operator');
    else {
        const {nodes: bits} = marksOf(g);
        const failing = bitsOf(['first', 'nan', 'inf', 'fail']);
        highlight(selected, new Set(failingChain(g, nodes[0], (n) => (bits[n] & failing) !== 0)), 'failing nodes lead here');
    }
}

/** Shows only the neighbourhood of the selection: 1, 2, 3 steps, then all again. */
export function stepNear() {
    const {near, selected} = store.get();
    if (!selected && near === 0) return say('select a node first');
    const next = (near + 1) % 4;
    graphView().wanted = selected;
    store.set({near: next});
    say(next ? 'only ' + next + (next === 1 ? ' step' : ' steps') + ' around the selection' : 'whole graph');
}

/** Bookmarks the selected node, or takes the bookmark away. */
export function toggleBookmark() {
    const {selected, bookmarks} = store.get();
    if (!selected || selected.kind !== 'node') return;
    const next = new Set(bookmarks);
    if (!next.delete(selected.id)) next.add(selected.id);
    store.set({bookmarks: next});
    say(next.has(selected.id) ? 'bookmarked' : 'bookmark removed');
}

/**
 * Shows the next instance of the repeat that the selection lies in, or of the first that is seen.
 * @param {number} side 1 or -1
 */
export function stepInstance(side) {
    const view = graphView();
    const pane = view.panes[0];
    const {g, scene} = pane;
    const state = store.get();
    if (!scene) return;
    const isOne = (/** @type {number} */ c) => g.container.kind[c] === CONTAINER.repeat && stateOf(g, state, c) === STATE.one && scene.frameOfContainer.has(c);
    const {selected} = state;
    let c = !selected || selected.kind === 'tensor' ? -1 : selected.kind === 'container' ? selected.id : g.node.parent[selected.id];
    while (c >= 0 && !isOne(c)) c = g.container.parent[c];
    if (c < 0) c = scene.frames.map((f) => f.container).find(isOne) ?? -1;
    if (c < 0) return say('no repetition is open');
    const count = childrenOf(g).containers[c].length;
    const instance = new Map(state.instance);
    const at = (instanceOf(g, state, c) + side + count) % count;
    instance.set(canonicalOf(g)[c], at);
    view.fold(0, {instance}, {kind: 'container', id: c});
    store.set({selected: {kind: 'container', id: c, graph: pane.graph}});
    say('instance ' + (at + 1) + ' of ' + count);
}

/** Esc: takes away the path, then what was found, then the selection. */
export function clearAll() {
    const {path, other, hits, query} = store.get();
    if (path || other) store.set({path: null, other: null});
    else if (hits || query) store.set({hits: null, query: ''});
    else store.set({selected: null});
}

/** Both graphs, or the merged picture of both. */
export function toggleDiff() {
    const view = graphView();
    const {diff} = store.get();
    if (view.merged < 0) return say('there is no second graph');
    store.set({diff: !diff, graph: diff ? view.first : view.merged, root: 0, states: new Map(), instance: new Map(), selected: null, other: null, path: null, hits: null, camera: {x: 0, y: 0, scale: 0}});
}
