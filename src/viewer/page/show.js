// SPDX-License-Identifier: Apache-2.0
// What panels, keys and exports ask of the picture.

import {data} from './data.js';
import {store} from './store.js';
import {shownFor, unfoldFor} from './fold.js';
import {fitBox} from './camera.js';
import {nodesOfItem} from './pane.js';
import {drawScene} from './canvas.js';
import {graphView} from './graph_view.js';

/** @typedef {import('./store.js').Item} Item */
/** @typedef {import('./fold.js').Shown} Shown */
/** @typedef {import('./pane.js').Pane} Pane */
/** @typedef {import('./colour.js').Scale} Scale */

/**
 * Unfolds what hides an item, centres it, and lets it flash.
 * @param {Item} item
 */
export function show(item) {
    const view = graphView();
    const state = store.get();
    const g = data.graph(item.graph);
    const node = item.kind === 'tensor' ? nodesOfItem(g, item)[0] ?? -1 : item.id;
    if (node < 0) return;
    const thing = {kind: /** @type {'node' | 'container'} */ (item.kind === 'container' ? 'container' : 'node'), id: node};
    const isSecond = view.isPair && item.graph === view.second;
    const pane = isSecond ? view.panes[1] : view.panes[0];
    const isOther = !isSecond && pane.graph !== item.graph;
    const folding = isOther ? {states: new Map(), instance: new Map(), root: 0} : pane.foldingOf(state);
    const unfolded = unfoldFor(g, folding, thing);
    const isNear = state.near > 0 && pane.cardForNode(state, node) < 0;
    if (!isOther && !isNear && state.view === 'graph' && unfolded.root === folding.root && isVisible(pane, thing)) {
        if (!isSecond && unfolded.instance && unfolded.instance.size !== folding.instance.size) store.set({instance: unfolded.instance}); // so that a link names it
        return view.centre(item);
    }
    view.wanted = item;
    if (isSecond) return view.fold(1, unfolded, null);
    store.set({...unfolded, view: 'graph', ...(isOther ? {graph: item.graph, diff: item.graph === view.merged} : {}), ...(isNear ? {near: 0} : {})});
    if (!isOther && isVisible(pane, thing) && unfolded.root === folding.root) view.rearrange();
}

/** @param {Pane} pane @param {Shown} thing */
function isVisible(pane, thing) {
    if (!pane.scene) return false;
    const item = shownFor(pane.g, pane.foldingOf(store.get()), thing);
    return item !== null && (item.kind === thing.kind ? item.id === thing.id : pane.g.container.node[item.id] === thing.id) && pane.boxOf(item) !== null;
}

/** The whole graph in the view. */
export function fit() {
    const view = graphView();
    const {scene} = view.panes[0];
    if (scene) view.glideTo(fitBox({x: 0, y: 0, w: scene.w, h: scene.h}, view.panes[0].view));
}

/** The first picture again. */
export function resetView() {
    const view = graphView();
    view.glideTo(view.firstView(view.panes[0]));
}

/**
 * Opens a container by itself.
 * @param {number} root
 */
export function enterRoot(root) {
    graphView().openRoot(root);
}

// ---- For exports ------------------------------------------------------------------------------------------------------------------------

const BORDER = 20;

/** @returns {{w: number, h: number}} the size of the whole graph at scale 1 */
export function extent() {
    const {scene} = graphView().panes[0];
    return scene ? {w: Math.ceil(scene.w) + 2 * BORDER, h: Math.ceil(scene.h) + 2 * BORDER} : {w: 0, h: 0};
}

/**
 * Draws what is seen, or the whole graph, to any context with the members that cards.js lists.
 * @param {CanvasRenderingContext2D} context
 * @param {number} width
 * @param {number} height
 * @param {boolean} all
 */
export function paint(context, width, height, all) {
    const {scene, index, look, camera, view, theme} = graphView().panes[0];
    if (!scene || !index || !look) return;
    context.fillStyle = theme.page;
    context.fillRect(0, 0, width, height);
    const full = extent();
    const scale = all ? Math.min(width / full.w, height / full.h) : camera.scale * (width / view.w);
    const at = all ? {x: scene.w / 2, y: scene.h / 2} : camera;
    drawScene(context, scene, index, {...look, hover: -1, hoverTensor: -1, edgeAlpha: 1}, {x: at.x, y: at.y, scale}, {w: width, h: height});
}

// ---- For the legend ----

/**
 * The scale of the colours that are shown; null: there is none.
 * @returns {Scale | null}
 */
export function shownScale() {
    return graphView().scale;
}

/** @param {() => void} listener  called when the scale of the colours has changed */
export function onScale(listener) {
    graphView().scaleListeners.push(listener);
}
