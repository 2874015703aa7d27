// SPDX-License-Identifier: Apache-2.0
// One canvas with one graph: makes the scene when something was folded or switched, and draws it when the camera or the look has changed.

import {CONTAINER, STATE, TENSOR, data, tensorConsumers} from './data.js';
import {arrange} from './arrange.js';
import {canonicalOf, containersAround, marksOf, shownFor, stateOf} from './fold.js';
import {cardSize, drawOutline} from './cards.js';
import {colouring} from './look.js';
import {Snapshot} from './snapshot.js';
import {drawScene, indexScene} from './canvas.js';

import {neighbourhoodOf} from './walk.js';
import {roundBox} from './marks.js';
import {readTheme} from './theme.js';
import {seen} from './camera.js';

/** @typedef {import('./arrange.js').Scene} Scene */
/** @typedef {import('./arrange.js').Card} Card */
/** @typedef {import('./canvas.js').Index} Index */
/** @typedef {import('./camera.js').Camera} Camera */
/** @typedef {import('./camera.js').Size} Size */
/** @typedef {import('./fold.js').Shown} Shown */
/** @typedef {import('./look.js').Look} Look */
/** @typedef {import('./store.js').State} State */
/** @typedef {import('./store.js').Item} Item */
/** @typedef {import('./grid.js').Box} Box */

const SLICE_MS = 14;
const MOVE_MS = 200;
const FLASH_MS = 900;
const MOVED_MOST = 1500;
const AT_ONCE = 700; // cards that can be drawn in one frame

/**
 * Lets the page draw and answer between two slices of work.
 * @returns {Promise<void>}
 */
export function breathe() {
    return new Promise((resolve) => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => resolve();
        channel.port2.postMessage(0);
    });
}

export function prefersStill() {
    return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

export class Pane {
    /** @param {HTMLCanvasElement} canvas @param {number} graph @param {() => void} redraw  asks for a drawing in the next frame */
    constructor(canvas, graph, redraw) {
        this.canvas = canvas;
        this.graph = graph;
        this.redraw = redraw;
        /** @type {Size} */
        this.view = {w: 0, h: 0};
        /** @type {Scene | null} */
        this.scene = null;
        /** @type {Index | null} */
        this.index = null;
        /** @type {Camera} */
        this.camera = {x: 0, y: 0, scale: 1};
        /** @type {Look | null} */
        this.look = null;
        this.theme = readTheme();
        this.build = 0;
        this.snapshot = new Snapshot();
        /** @type {import('./fold.js').Folding | null} null: that of the state */
        this.own = null;
        this.hover = -1;
        this.hoverTensor = -1;
        /** @type {{start: number, from: Map<string, Box>} | null} */
        this.move = null;
        /** @type {{start: number, card: number} | null} */
        this.flashing = null;
    }

    get g() {
        return data.graph(this.graph);
    }

    // ---- Making the scene ----

    /**
     * Makes the scene of a state. Resolves to false if another build began meanwhile.
     * @param {Readonly<State>} state
     * @param {Shown | null} anchor  stays where it is on the screen
     * @param {() => void} slow  called once if it takes long
     * @returns {Promise<boolean>}
     */
    async arrange(state, anchor, slow) {
        const build = ++this.build;
        const before = anchor && this.boxOf(anchor);
        const steps = this.steps(state);
        const start = performance.now();
        let slice = start;
        for (;;) {
            const step = steps.next();
            if (step.done) {
                this.accept(step.value.scene, step.value.index, before, anchor);
                return true;
            }
            const now = performance.now();
            if (now - slice < SLICE_MS) continue;
            if (now - start > 150) slow();
            await breathe();
            if (build !== this.build) return false;
            slice = performance.now();
        }
    }

    /** @param {Readonly<State>} state @returns {Generator<void, {scene: Scene, index: Index}, void>} */
    *steps(state) {
        const {g} = this;
        const folding = this.foldingOf(state);
        const scene = yield* arrange(g, {
            folding,
            horizontal: state.horizontal,
            size: (item) => cardSize(g, item, state),
            keep: this.keepNear(state),
        });
        const index = yield* indexScene(scene);
        return {scene, index};
    }

    /**
     * The folding of the state; a second pane has its own.
     * @param {Readonly<State>} state
     * @returns {import('./fold.js').Folding}
     */
    foldingOf(state) {
        return this.own || state;
    }

    /** @param {Readonly<State>} state @returns {((item: Shown) => boolean) | null} */
    keepNear(state) {
        const {g} = this;
        const nodes = state.selected && state.selected.graph === this.graph ? nodesOfItem(g, state.selected) : [];
        if (state.near <= 0 || nodes.length === 0) return null;
        const near = neighbourhoodOf(g, nodes, state.near);
        const containers = new Uint8Array(g.container.count);
        for (const n of near) for (let c = g.node.parent[n]; c >= 0 && !containers[c]; c = g.container.parent[c]) containers[c] = 1;
        return (item) => (item.kind === 'node' ? near.has(item.id) : containers[item.id] === 1);
    }

    /** @param {Scene} scene @param {Index} index @param {Box | null} before @param {Shown | null} anchor */
    accept(scene, index, before, anchor) {
        const old = this.scene;
        this.scene = scene;
        this.index = index;
        this.hover = this.hoverTensor = -1;
        const after = anchor && this.boxOf(anchor);
        let [dx, dy] = [0, 0];
        if (before && after) [dx, dy] = [after.x + after.w / 2 - before.x - before.w / 2, after.y - before.y];
        this.camera = {...this.camera, x: this.camera.x + dx, y: this.camera.y + dy};
        this.startMove(old, dx, dy);
    }

    /** @param {Scene | null} old @param {number} dx @param {number} dy */
    startMove(old, dx, dy) {
        this.move = null;
        const scene = this.scene;
        if (!old || !scene || prefersStill() || scene.cards.length > MOVED_MOST || old.cards.length > MOVED_MOST) return;
        /** @type {Map<string, Box>} */
        const from = new Map();
        for (const c of old.cards) from.set(keyOf(c.item), {x: c.x + dx, y: c.y + dy, w: c.w, h: c.h});
        for (const f of old.frames) from.set('container' + f.container, {x: f.x + dx, y: f.y + dy, w: f.w, h: f.h});
        this.move = {start: performance.now(), from};
    }

    // ---- Finding things ----

    /**
     * The box of what is drawn for an item.
     * @param {Shown} item
     * @returns {Box | null}
     */
    boxOf(item) {
        const {scene} = this;
        if (!scene) return null;
        const card = this.cardOf(item);
        if (card >= 0) return scene.cards[card];
        const frame = item.kind === 'container' ? scene.frameOfContainer.get(item.id) : undefined;
        return frame === undefined ? null : scene.frames[frame];
    }

    /** @param {Shown} item @returns {number} card, -1: none */
    cardOf(item) {
        if (!this.scene) return -1;
        return (item.kind === 'node' ? this.scene.cardOfNode : this.scene.cardOfContainer).get(item.id) ?? -1;
    }

    /**
     * The card that stands for a node, -1: none.
     * @param {Readonly<State>} state
     * @param {number} n
     */
    cardForNode(state, n) {
        const known = this.scene?.cardOfNode.get(n);
        if (known !== undefined) return known;
        const item = shownFor(this.g, this.foldingOf(state), {kind: 'node', id: n});
        return item ? this.cardOf(item) : -1;
    }

    // ---- Look ----

    /** @param {Readonly<State>} state */
    updateLook(state) {
        const {g} = this;
        const selected = new Set();
        const tensors = new Set();
        for (const item of [state.selected, state.other, state.hover]) {
            if (!item || item.graph !== this.graph) continue;
            this.select(state, item, item === state.hover ? new Set() : selected, tensors);
        }
        const isShown = state.graph === this.graph;
        const folding = this.foldingOf(state);
        const path = isShown && state.path ? this.cardsOf(state, state.path.nodes) : null;
        if (isShown && state.path) for (const t of state.path.tensors) tensors.add(t);
        this.look = {
            g,
            theme: this.theme,
            state: {...state, states: folding.states, instance: folding.instance, root: folding.root},
            ...colouring(g, state),
            marks: marksOf(g),
            selected,
            hits: isShown && state.hits ? this.cardsOfMarked(state, state.hits) : new Set(),
            path,
            tensors,
            hover: this.hover,
            hoverTensor: this.hoverTensor,
            edgeAlpha: 1,
        };
        if (state.hover && state.hover.graph === this.graph && state.hover.kind !== 'tensor') this.look.hover = this.cardFor(state, state.hover);
    }

    /** @param {Readonly<State>} state @param {Item} item */
    cardFor(state, item) {
        if (item.kind === 'node') return this.cardForNode(state, item.id);
        const shownItem = item.kind === 'container' ? shownFor(this.g, this.foldingOf(state), {kind: 'container', id: item.id}) : null;
        return shownItem ? this.cardOf(shownItem) : -1;
    }

    /** @param {Readonly<State>} state @param {Item} item @param {Set<number>} cards @param {Set<number>} tensors */
    select(state, item, cards, tensors) {
        const {g} = this;
        if (item.kind === 'tensor') {
            tensors.add(item.id);
            if (g.tensor.kind[item.id] === TENSOR.weight || g.tensor.kind[item.id] === TENSOR.constant) {
                for (const n of tensorConsumers(g, item.id)) cards.add(this.cardForNode(state, n));
            }
            return;
        }
        const card = this.cardFor(state, item);
        if (card >= 0) cards.add(card);
        if (item.kind === 'node') for (const t of [...g.node.inputs[item.id], ...g.node.outputs[item.id]]) if (t >= 0) tensors.add(t);
    }

    /** @param {Readonly<State>} state @param {Iterable<number>} nodes @returns {Set<number>} */
    cardsOf(state, nodes) {
        const cards = new Set();
        for (const n of nodes) {
            const card = this.cardForNode(state, n);
            if (card >= 0) cards.add(card);
        }
        return cards;
    }

    /**
     * Cards of nodes, and of those that make or read the tensors.
     * @param {Readonly<State>} state
     * @param {import('./store.js').Marked} marked
     */
    cardsOfMarked(state, marked) {
        const nodes = new Set(marked.nodes);
        for (const t of marked.tensors) {
            if (this.g.tensor.producer[t] >= 0) nodes.add(this.g.tensor.producer[t]);
            else for (const n of tensorConsumers(this.g, t)) nodes.add(n);
        }
        return this.cardsOf(state, nodes);
    }

    // ---- Drawing ----

    /**
     * Fits the canvas to its room.
     * @returns {boolean} true if its size has changed
     */
    resize() {
        const parent = this.canvas.parentElement;
        const w = parent ? parent.clientWidth : 0;
        const h = parent ? parent.clientHeight : 0;
        const ratio = window.devicePixelRatio || 1;
        if (w === this.view.w && h === this.view.h && this.canvas.width === Math.round(w * ratio)) return false;
        this.view = {w, h};
        this.canvas.width = Math.round(w * ratio);
        this.canvas.height = Math.round(h * ratio);
        return true;
    }

    draw() {
        const ctx = this.canvas.getContext('2d', {alpha: false});
        const {scene, index, look, view} = this;
        if (!ctx || view.w === 0) return;
        const ratio = window.devicePixelRatio || 1;
        ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
        ctx.fillStyle = this.theme.page;
        ctx.fillRect(0, 0, view.w, view.h);
        if (!scene || !index || !look) return;
        const moved = this.moved(scene);
        look.edgeAlpha = moved.part;
        if (moved.scene === scene && this.cardsSeen(scene) > AT_ONCE) {
            if (this.snapshot.draw(ctx, scene, index, look, this.camera, view)) this.redraw();
            this.drawHover(ctx, scene, look);
        } else {
            drawScene(ctx, moved.scene, index, look, this.camera, view);
        }
        this.drawFlash(ctx, moved.scene);
    }

    /**
     * About how many cards are seen.
     * @param {Scene} scene
     */
    cardsSeen(scene) {
        if (scene.cards.length <= AT_ONCE) return scene.cards.length;
        const part = seen(this.camera, this.view);
        const across = Math.min(part.x + part.w, scene.w) - Math.max(part.x, 0);
        const along = Math.min(part.y + part.h, scene.h) - Math.max(part.y, 0);
        return (scene.cards.length * Math.max(across, 0) * Math.max(along, 0)) / Math.max(scene.w * scene.h, 1);
    }

    /** @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {Look} look */
    drawHover(ctx, scene, look) {
        const card = scene.cards[look.hover];
        if (!card) return;
        const {camera, view} = this;
        ctx.save();
        ctx.translate(view.w / 2 - camera.x * camera.scale, view.h / 2 - camera.y * camera.scale);
        ctx.scale(camera.scale, camera.scale);
        drawOutline(ctx, look, card, look.hover, false);
        ctx.restore();
    }

    /**
     * The scene on its way from where things were before.
     * @param {Scene} scene
     * @returns {{scene: Scene, part: number}}
     */
    moved(scene) {
        const {move} = this;
        if (!move) return {scene, part: 1};
        const time = (performance.now() - move.start) / MOVE_MS;
        if (time >= 1) {
            this.move = null;
            return {scene, part: 1};
        }
        this.redraw();
        const part = 1 - (1 - time) ** 3;
        /** @template {Box} T @param {T} box @param {Box | null} from @returns {T} */
        const between = (box, from) => {
            if (!from) return box;
            const mix = (/** @type {'x' | 'y' | 'w' | 'h'} */ k) => from[k] + (box[k] - from[k]) * part;
            return {...box, x: mix('x'), y: mix('y'), w: mix('w'), h: mix('h')};
        };
        const cards = scene.cards.map((c) => between(c, move.from.get(keyOf(c.item)) || this.birthplace(move.from, c)));
        const frames = scene.frames.map((f) => between(f, move.from.get('container' + f.container) || null));
        return {scene: {...scene, cards, frames}, part: part ** 3};
    }

    /**
     * A card that was not shown before comes out of the card of its container.
     * @param {Map<string, Box>} from
     * @param {Card} card
     * @returns {Box | null}
     */
    birthplace(from, card) {
        for (const c of containersAround(this.g, card.item)) {
            const box = from.get('container' + c);
            if (box) return box.h < 100 ? {x: box.x, y: box.y, w: card.w, h: card.h} : null;
        }
        return null;
    }

    /** @param {CanvasRenderingContext2D} ctx @param {Scene} scene */
    drawFlash(ctx, scene) {
        if (!this.flashing) return;
        const time = (performance.now() - this.flashing.start) / FLASH_MS;
        const card = scene.cards[this.flashing.card];
        if (time >= 1 || !card) {
            this.flashing = null;
            return;
        }
        const {camera, view} = this;
        const more = 4 + 14 * time;
        ctx.globalAlpha = 1 - time;
        ctx.beginPath();
        const x = (card.x - camera.x) * camera.scale + view.w / 2 - more;
        const y = (card.y - camera.y) * camera.scale + view.h / 2 - more;
        roundBox(ctx, x, y, card.w * camera.scale + 2 * more, card.h * camera.scale + 2 * more, 6 + more, 6 + more);
        ctx.lineWidth = 3;
        ctx.strokeStyle = this.theme.accent;
        ctx.stroke();
        ctx.globalAlpha = 1;
        this.redraw();
    }

    /** @param {number} card */
    flash(card) {
        if (card >= 0 && !prefersStill()) this.flashing = {start: performance.now(), card};
    }
}

/** @param {Shown} item */
function keyOf(item) {
    return item.kind + item.id;
}

/**
 * The nodes that an item is about.
 * @param {import('./data.js').Graph} g
 * @param {Item} item
 * @returns {number[]}
 */
export function nodesOfItem(g, item) {
    if (item.kind === 'node') return [item.id];
    if (item.kind === 'tensor') {
        const producer = g.tensor.producer[item.id];
        return producer >= 0 ? [producer] : [...tensorConsumers(g, item.id)];
    }
    const inside = [];
    for (let n = 0; n < g.node.count; n++) {
        for (let c = g.node.parent[n]; c >= 0; c = g.container.parent[c]) {
            if (c !== item.id) continue;
            inside.push(n);
            break;
        }
    }
    return inside;
}

/**
 * What a press on the fold button of a container does to its state.
 * @param {import('./data.js').Graph} g
 * @param {import('./fold.js').Folding} folding
 * @param {number} c
 * @param {number} to  STATE, -1: the other one
 * @returns {Map<number, number>}
 */
export function toggled(g, folding, c, to) {
    const states = new Map(folding.states);
    const now = stateOf(g, folding, c);
    const isRepeat = g.container.kind[c] === CONTAINER.repeat;
    states.set(canonicalOf(g)[c], to >= 0 ? to : now !== STATE.folded ? STATE.folded : isRepeat ? STATE.one : STATE.open);
    return states;
}
