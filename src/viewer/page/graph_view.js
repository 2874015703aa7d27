// SPDX-License-Identifier: Apache-2.0
// The picture: one pane, or two side by side, the minimap, the path of opened parts, and what panels and keys can ask of it.

import {data} from './data.js';
import {store} from './store.js';
import {region} from './dom.js';
import {shownFor} from './fold.js';
import {firstCamera} from './camera.js';
import {Pane, nodesOfItem, prefersStill} from './pane.js';
import {Pointer} from './pointer.js';
import {Minimap} from './minimap.js';
import {showBreadcrumb, showTitles} from './breadcrumb.js';
import {describe, say, tipOf} from './describe.js';
import {mirroredFolding} from './mirror.js';
import {betweenNodes, markedOf} from './walk.js';
import {scaleOf} from './colour.js';
import {functionOf, shownExtremes} from './look.js';
import {readTheme} from './theme.js';

/** @typedef {import('./store.js').Item} Item */
/** @typedef {import('./store.js').State} State */
/** @typedef {import('./fold.js').Shown} Shown */
/** @typedef {import('./fold.js').Folding} Folding */
/** @typedef {import('./camera.js').Camera} Camera */
/** @typedef {import('./colour.js').Scale} Scale */

/** What must be arranged again if it changed. */
const ARRANGED = ['graph', 'root', 'states', 'instance', 'near', 'attributes', 'weights', 'horizontal', 'diff'];
const READABLE = 0.45;
const GLIDE_MS = 180;

export class GraphView {
    constructor() {
        const head = data.head();
        const a = Math.max(head.graphs.findIndex((g) => g.role === 'a'), 0);
        const b = head.graphs.findIndex((g) => g.role === 'b');
        this.merged = head.graphs.findIndex((g) => g.role === 'merged');
        this.frame = 0;
        this.glide = 0;
        this.isFirst = true;
        this.restart = false;
        /** @type {Shown | null} what stays in place when the scene changes */
        this.anchor = null;
        /** @type {Item | null} what will be shown when the scene is made */
        this.wanted = null;
        /** The first picture was made without a size. */
        this.unseen = false;
        /** @type {Scale | null} of the colours */
        this.scale = null;
        /** @type {(() => void)[]} */
        this.scaleListeners = [];
        /** Where B's camera is, seen from A's. */
        this.shift = {x: 0, y: 0};
        /** @type {Pane[]} */
        this.panes = [new Pane(/** @type {HTMLCanvasElement} */ (region('canvas')), a, () => this.later())];
        this.first = a;
        this.second = b;
        new Pointer(this.panes[0], this.wishes(0));
        this.minimap = new Minimap(/** @type {HTMLCanvasElement} */ (region('minimap')), this.panes[0], (camera) => this.moveTo(camera));
        if (b >= 0) this.addSecond(b);
        const resized = new ResizeObserver(() => this.resized());
        resized.observe(region('halves'));
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.retheme());
    }

    /** @param {number} graph */
    addSecond(graph) {
        const pane = new Pane(/** @type {HTMLCanvasElement} */ (region('canvas-b')), graph, () => this.later());
        pane.own = {states: new Map(), instance: new Map(), root: 0};
        this.panes.push(pane);
        new Pointer(pane, this.wishes(1));
    }

    /** @param {number} p @returns {import('./pointer.js').Wishes} */
    wishes(p) {
        return {
            move: (camera) => {
                const shift = p === 1 ? this.shift : {x: 0, y: 0};
                this.moveTo({x: camera.x - shift.x, y: camera.y - shift.y, scale: camera.scale});
            },
            select: (item, isSecond) => this.select(item, isSecond),
            fold: (folding, anchor) => this.fold(p, folding, anchor),
            enter: (item) => this.enter(item),
            hover: () => this.hover(p),
            zoomsByWheel: () => store.get().zoom_by_wheel,
        };
    }

    get isPair() {
        return this.panes.length > 1 && !store.get().diff && this.panes[0].graph === this.first;
    }

    // ---- Changes ----

    /** @param {Set<string>} changed @param {State} state */
    change(changed, state) {
        if (changed.has('graph') || changed.has('diff')) this.chooseGraphs(state);
        if (changed.has('horizontal') && !this.isFirst) this.turn();
        const nearMoved = changed.has('selected') && state.near > 0 && state.selected !== null;
        if (nearMoved || this.isFirst || ARRANGED.some((name) => changed.has(name))) this.rearrange();
        if (changed.has('selected')) this.announce();
        if (changed.has('selected') && this.isPair) this.align(state.selected);
        if ([...changed].some((name) => name !== 'camera' && name !== 'view' && name !== 'sidebar')) this.look();
        if (changed.has('root') || changed.has('graph')) showBreadcrumb(this.panes[0].g, (c) => this.openRoot(c));
        this.draw();
    }

    /** Rows have become columns: looks at the selection, or at the beginning. */
    turn() {
        const {selected} = store.get();
        if (selected) this.wanted = selected;
        else this.restart = true;
    }

    /** @param {State} state */
    chooseGraphs(state) {
        const isMerged = state.diff && this.merged >= 0;
        const isHalf = this.panes.length > 1 && (state.graph === this.first || state.graph === this.second) && !isMerged;
        const graph = isMerged ? this.merged : isHalf ? this.first : state.graph;
        const pane = this.panes[0];
        if (pane.graph !== graph) {
            pane.graph = graph;
            pane.scene = null;
            this.isFirst = true;
        }
    }

    look() {
        const state = store.get();
        const panes = this.shownPanes();
        for (const pane of this.panes) if (pane.scene) pane.updateLook(state);
        const scale = this.commonScale(panes, state);
        for (const pane of panes) if (pane.look) pane.look.scale = scale;
        const isChanged = scale !== this.scale;
        this.scale = scale;
        if (isChanged) for (const listener of this.scaleListeners) listener();
    }

    /** @returns {Pane[]} both of a pair, or the first */
    shownPanes() {
        return this.isPair ? this.panes : this.panes.slice(0, 1);
    }

    /**
     * The scale of what is shown, folded as it is; of two graphs the same for both.
     * @param {Pane[]} panes
     * @param {State} state
     * @returns {Scale | null}
     */
    commonScale(panes, state) {
        const q = data.results().quantities[state.quantity];
        if (!q || !panes.some((pane) => pane.look?.quantity)) return null;
        const values = panes.flatMap(({look, scene}) => (look && scene ? shownExtremes(look, scene) || [] : []));
        const scale = scaleOf(q, state.range, values);
        const old = this.scale;
        const isSame = old && old.stops === scale.stops && old.names === scale.names && old.low === scale.low && old.high === scale.high && old.kind === scale.kind && old.reversed === scale.reversed;
        return isSame ? old : scale;
    }

    async rearrange() {
        const state = store.get();
        const {anchor, isFirst} = this;
        this.isFirst = false;
        region('half-b').hidden = !this.isPair;
        showTitles(this.panes);
        for (const pane of this.panes) pane.resize();
        const busy = region('busy');
        for (const pane of this.shownPanes()) {
            const isDone = await pane.arrange(state, pane === this.panes[0] || !this.isPair ? anchor || this.anchorOf(pane) : null, () => {
                busy.textContent = 'Arranging ' + pane.g.node.count + ' nodes';
                busy.hidden = false;
            });
            if (!isDone) return;
        }
        busy.hidden = true;
        this.anchor = null;
        this.look();
        this.afterScene(isFirst);
    }

    /**
     * Without a wish, the selection stays in place, or else what is nearest to the middle.
     * @param {Pane} pane
     * @returns {Shown | null}
     */
    anchorOf(pane) {
        const {selected} = store.get();
        if (selected && selected.kind !== 'tensor' && selected.graph === pane.graph) {
            const item = shownFor(pane.g, pane.foldingOf(store.get()), {kind: selected.kind, id: selected.id});
            if (item && pane.boxOf(item)) return item;
        }
        return null;
    }

    /** @param {boolean} isFirst */
    afterScene(isFirst) {
        const pane = this.panes[0];
        const {scene} = pane;
        if (!scene) return;
        const state = store.get();
        if (isFirst || this.restart) {
            if (state.camera.scale > 0 && !this.restart) pane.camera = state.camera;
            else pane.camera = this.firstView(pane);
            this.glide++;
            if (this.isPair) this.alignFirst();
        }
        this.restart = false;
        this.unseen = pane.view.w === 0;
        if (!this.unseen) store.set({camera: pane.camera});
        const wanted = this.wanted;
        this.wanted = null;
        if (wanted) this.centre(wanted);
        this.minimap.update();
        this.draw();
        document.body.dataset.ready = 'true';
    }

    /** @param {Pane} pane @returns {Camera} */
    firstView(pane) {
        const {scene, view} = pane;
        if (!scene) return {x: 0, y: 0, scale: 1};
        const first = scene.cards[0];
        const start = first ? (scene.horizontal ? first.y + first.h / 2 : first.x + first.w / 2) : 0;
        return firstCamera(scene, view, scene.horizontal, start);
    }

    hover(/** @type {number} */ p) {
        const pane = this.panes[p];
        if (pane.look) {
            pane.look.hover = pane.hover;
            pane.look.hoverTensor = pane.hoverTensor;
        }
        pane.canvas.title = tipOf(pane);
        this.later();
    }

    // ---- Drawing ----

    later() {
        if (this.frame) return;
        this.frame = requestAnimationFrame(() => {
            this.frame = 0;
            this.draw();
        });
    }

    draw() {
        const state = store.get();
        if (state.view !== 'graph') return;
        if (state.camera.scale > 0) {
            this.panes[0].camera = state.camera;
            if (this.panes[1]) this.panes[1].camera = {...state.camera, x: state.camera.x + this.shift.x, y: state.camera.y + this.shift.y};
        }
        for (const pane of this.shownPanes()) pane.draw();
        this.minimap.draw();
    }

    resized() {
        let isChanged = false;
        for (const pane of this.panes) isChanged = pane.resize() || isChanged;
        if (isChanged && this.unseen) this.lookFirst();
        if (isChanged) this.draw();
    }

    /** The picture was made while another view was open, so it had no size. */
    lookFirst() {
        const pane = this.panes[0];
        if (pane.view.w === 0) return;
        this.unseen = false;
        if (store.get().camera.scale > 0) return;
        store.set({camera: this.firstView(pane)});
    }

    retheme() {
        const theme = readTheme();
        for (const pane of this.panes) pane.theme = theme;
        this.look();
        this.minimap.update();
        this.later();
    }

    // ---- Wishes ----

    /** @param {Item | null} item @param {boolean} isSecond */
    select(item, isSecond) {
        const state = store.get();
        if (isSecond && item && state.selected && item.graph === state.selected.graph) {
            const g = data.graph(item.graph);
            const nodes = betweenNodes(g, nodesOfItem(g, state.selected), nodesOfItem(g, item));
            store.set({other: item, path: nodes.size ? markedOf(g, nodes) : null});
            say(nodes.size ? nodes.size + ' nodes on paths between both' : 'no path between both');
            return;
        }
        const isHalf = this.isPair && item;
        store.set({selected: item, other: null, path: null, ...(isHalf ? {graph: item.graph} : {})});
    }

    /** @param {number} p @param {Partial<Folding>} folding @param {Shown | null} anchor */
    fold(p, folding, anchor) {
        this.anchor = anchor;
        const [pane, other] = p === 0 ? this.panes : [this.panes[1], this.panes[0]];
        const mirrored = this.isPair && folding.root === undefined ? mirroredFolding(pane.g, other.g, pane.foldingOf(store.get()), folding, other.foldingOf(store.get())) : {};
        const [a, b] = p === 0 ? [folding, mirrored] : [mirrored, folding];
        if (this.panes[1]?.own) this.panes[1].own = {...this.panes[1].own, ...b};
        if (Object.keys(a).length > 0) store.set(a);
        else this.rearrange();
    }

    /**
     * Opens a container by itself.
     * @param {number} root
     */
    openRoot(root) {
        if (store.get().root === root) return;
        this.isFirst = true;
        store.set({root, selected: null, other: null, path: null, camera: {x: 0, y: 0, scale: 0}});
    }

    /**
     * Opens a container by itself, or the function that a node calls.
     * @param {Shown} item
     */
    enter(item) {
        const {g} = this.panes[0];
        const c = item.kind === 'container' ? item.id : functionOf(g, item.id);
        if (c >= 0 && g.container.layout[c]) this.openRoot(c);
    }

    /**
     * Moves at once; a glide ends.
     * @param {Camera} camera
     */
    moveTo(camera) {
        this.glide++;
        store.set({camera});
    }

    /**
     * Moves to a camera in a few frames.
     * @param {Camera} to
     */
    glideTo(to) {
        const from = store.get().camera;
        if (prefersStill() || from.scale <= 0) return this.moveTo(to);
        const distance = Math.hypot(to.x - from.x, to.y - from.y) * Math.max(from.scale, to.scale) + 400 * Math.abs(Math.log(to.scale / from.scale));
        const duration = Math.min(distance / 2, GLIDE_MS);
        const start = performance.now();
        const glide = ++this.glide;
        const step = () => {
            if (glide !== this.glide) return;
            const t = duration < 1 ? 1 : Math.min((performance.now() - start) / duration, 1);
            const part = 1 - (1 - t) ** 3;
            const scale = Math.exp(Math.log(from.scale) + (Math.log(to.scale) - Math.log(from.scale)) * part);
            store.set({camera: {x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part, scale}});
            if (t < 1) requestAnimationFrame(step);
        };
        step();
    }

    /** @param {Item} item */
    centre(item) {
        const p = this.isPair && item.graph === this.second ? 1 : 0;
        const pane = this.panes[p];
        const nodes = item.kind === 'tensor' ? nodesOfItem(pane.g, item) : [];
        const thing = item.kind === 'tensor' ? {kind: /** @type {'node'} */ ('node'), id: nodes[0] ?? -1} : {kind: item.kind, id: item.id};
        const card = thing.kind === 'node' ? pane.cardForNode(store.get(), thing.id) : pane.cardOf(thing);
        const box = card >= 0 && pane.scene ? pane.scene.cards[card] : pane.boxOf(thing);
        if (!box) return;
        const shift = p === 1 ? this.shift : {x: 0, y: 0};
        const scale = pane.camera.scale < READABLE ? 0.85 : pane.camera.scale;
        const isBig = box.h * scale > pane.view.h * 0.9;
        const y = isBig ? box.y + (pane.view.h * 0.4) / scale : box.y + box.h / 2;
        this.glideTo({x: box.x + box.w / 2 - shift.x, y: y - shift.y, scale});
        pane.flash(card);
    }

    // ---- Two graphs ----

    alignFirst() {
        const [a, b] = this.panes;
        if (!a.scene || !b.scene) return;
        const {pairs} = data.results();
        const k = pairs ? pairs.a.findIndex((n, i) => n >= 0 && pairs.b[i] >= 0 && a.scene?.cardOfNode.has(n) && b.scene?.cardOfNode.has(pairs.b[i])) : -1;
        if (pairs && k >= 0) this.alignCards(a.cardForNode(store.get(), pairs.a[k]), b.cardForNode(store.get(), pairs.b[k]));
        else this.shift = {x: (b.scene.w - a.scene.w) / 2, y: 0};
    }

    /**
     * Moves B so that the node that belongs to a selected one stands at the same height.
     * @param {Item | null} item
     */
    align(item) {
        const {pairs} = data.results();
        if (!item || item.kind !== 'node' || !pairs) return;
        const [from, to] = item.graph === this.first ? [pairs.a, pairs.b] : [pairs.b, pairs.a];
        const k = from.indexOf(item.id);
        if (k < 0 || to[k] < 0) return;
        const state = store.get();
        const [a, b] = this.panes;
        const isA = item.graph === this.first;
        this.alignCards(a.cardForNode(state, isA ? item.id : to[k]), b.cardForNode(state, isA ? to[k] : item.id));
    }

    /** @param {number} ca @param {number} cb */
    alignCards(ca, cb) {
        const one = this.panes[0].scene?.cards[ca];
        const two = this.panes[1].scene?.cards[cb];
        if (one && two) this.shift = {x: two.x + two.w / 2 - one.x - one.w / 2, y: two.y - one.y};
    }

    // ---- For screen readers ----

    announce() {
        const {selected} = store.get();
        say(selected ? describe(selected) : 'nothing selected');
    }
}

/** @type {GraphView | null} */
let theView = null;

/** @returns {GraphView} */
export function graphView() {
    if (!theView) throw new Error('the graph is used before mountGraph()');
    return theView;
}

/** Makes the picture of the state as it will be when `drawGraph` is called. */
export function mountGraph() {
    theView = new GraphView();
}

/**
 * Draws the picture, and follows the state from then on.
 * @returns {Promise<void>} when the first picture is drawn
 */
export async function drawGraph() {
    const view = graphView();
    store.tell(); // to nobody: the first picture is of the state as it is now
    view.chooseGraphs(store.get());
    showBreadcrumb(view.panes[0].g, (c) => view.openRoot(c));
    store.on((changed, state) => view.change(changed, state));
    await view.rearrange();
}
