// SPDX-License-Identifier: Apache-2.0
// Mouse, touch and wheel over a canvas: pans, zooms, presses on cards, buttons, frames and edges.

import {CONTAINER, STATE, childrenOf} from './data.js';
import {canonicalOf, instanceOf, stateOf} from './fold.js';
import {cardAt, edgeAt, frameAt} from './hit.js';
import {cardButton} from './cards.js';
import {frameButtons} from './frames.js';
import {pan, toContent, zoomAt} from './camera.js';
import {toggled} from './pane.js';

/** @typedef {import('./pane.js').Pane} Pane */
/** @typedef {import('./store.js').Item} Item */
/** @typedef {import('./fold.js').Shown} Shown */
/** @typedef {import('./fold.js').Folding} Folding */
/** @typedef {{x: number, y: number, w: number, h: number}} Box */

/**
 * What a pointer can ask for.
 * @typedef {Object} Wishes
 * @property {(camera: import('./camera.js').Camera) => void} move  the camera of the pane
 * @property {(item: Item | null, isSecond: boolean) => void} select
 * @property {(folding: Partial<Folding>, anchor: Shown | null) => void} fold
 * @property {(item: Shown) => void} enter  opens a container or function by itself
 * @property {() => void} hover
 * @property {() => boolean} zoomsByWheel
 */

const CLICK_MOST = 4;
const EDGE_REACH = 6;
const HEADER_HEIGHT = 22;

/** @param {Box | null} box @param {{x: number, y: number}} p */
function holds(box, p) {
    return box !== null && box.w > 0 && p.x >= box.x - 2 && p.x <= box.x + box.w + 2 && p.y >= box.y - 2 && p.y <= box.y + box.h + 2;
}

export class Pointer {
    /** @param {Pane} pane @param {Wishes} wishes */
    constructor(pane, wishes) {
        this.pane = pane;
        this.wishes = wishes;
        /** @type {Map<number, {x: number, y: number}>} */
        this.down = new Map();
        this.moved = 0;
        const {canvas} = pane;
        canvas.addEventListener('pointerdown', (e) => this.press(e));
        canvas.addEventListener('pointermove', (e) => this.drag(e));
        canvas.addEventListener('pointerup', (e) => this.release(e));
        canvas.addEventListener('pointercancel', (e) => this.down.delete(e.pointerId));
        canvas.addEventListener('pointerleave', () => this.leave());
        canvas.addEventListener('dblclick', (e) => this.twice(e));
        canvas.addEventListener('wheel', (e) => this.wheel(e), {passive: false});
    }

    /** @param {MouseEvent} e @returns {{x: number, y: number}} in CSS pixels of the canvas */
    at(e) {
        const box = this.pane.canvas.getBoundingClientRect();
        return {x: e.clientX - box.left, y: e.clientY - box.top};
    }

    /** @param {MouseEvent} e @returns {{x: number, y: number}} in content units */
    content(e) {
        const p = this.at(e);
        return toContent(this.pane.camera, this.pane.view, p.x, p.y);
    }

    /** @param {PointerEvent} e */
    press(e) {
        if (e.button !== 0 && e.button !== 1) return;
        this.pane.canvas.focus({preventScroll: true});
        this.pane.canvas.setPointerCapture(e.pointerId);
        this.down.set(e.pointerId, this.at(e));
        if (this.down.size === 1) this.moved = 0;
    }

    /** @param {PointerEvent} e */
    drag(e) {
        const before = this.down.get(e.pointerId);
        if (!before) {
            this.point(e);
            return;
        }
        const now = this.at(e);
        const [dx, dy] = [now.x - before.x, now.y - before.y];
        this.moved += Math.abs(dx) + Math.abs(dy);
        if (this.moved < CLICK_MOST) return;
        const {camera, view} = this.pane;
        if (this.down.size === 2) {
            const other = [...this.down.entries()].find(([id]) => id !== e.pointerId)?.[1] || now;
            const factor = Math.hypot(now.x - other.x, now.y - other.y) / Math.max(Math.hypot(before.x - other.x, before.y - other.y), 1);
            this.wishes.move(zoomAt(pan(camera, dx / 2, dy / 2), view, factor, (now.x + other.x) / 2, (now.y + other.y) / 2));
        } else {
            this.wishes.move(pan(camera, dx, dy));
        }
        this.down.set(e.pointerId, now);
        this.pane.canvas.classList.add('dragged');
    }

    /** @param {PointerEvent} e */
    release(e) {
        const wasDown = this.down.delete(e.pointerId);
        this.pane.canvas.classList.remove('dragged');
        if (wasDown && this.moved < CLICK_MOST && e.button === 0) this.click(e);
    }

    leave() {
        if (this.pane.hover < 0 && this.pane.hoverTensor < 0) return;
        this.pane.hover = this.pane.hoverTensor = -1;
        this.wishes.hover();
    }

    /** @param {WheelEvent} e */
    wheel(e) {
        e.preventDefault();
        const p = this.at(e);
        const unit = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? this.pane.view.h : 1;
        const {camera, view} = this.pane;
        if (e.ctrlKey || e.metaKey || e.shiftKey || this.wishes.zoomsByWheel()) {
            const delta = (e.deltaY || e.deltaX) * unit;
            const speed = e.ctrlKey && Math.abs(delta) < 40 ? 0.01 : 0.0016;
            this.wishes.move(zoomAt(camera, view, Math.exp(-Math.min(Math.max(delta, -400), 400) * speed), p.x, p.y));
        } else {
            this.wishes.move(pan(camera, -e.deltaX * unit, -e.deltaY * unit));
        }
    }

    /** @param {MouseEvent} e */
    point(e) {
        const {pane} = this;
        const {scene, index} = pane;
        if (!scene || !index) return;
        const p = this.content(e);
        const hover = cardAt(scene, index, p.x, p.y);
        const edge = hover < 0 ? edgeAt(scene, index, p.x, p.y, EDGE_REACH / pane.camera.scale) : -1;
        const hoverTensor = edge < 0 ? -1 : scene.edges[edge].tensor;
        const isHeader = hover < 0 && this.headerAt(p) >= 0;
        pane.canvas.classList.toggle('over', hover >= 0 || edge >= 0 || isHeader);
        if (hover === pane.hover && hoverTensor === pane.hoverTensor) return;
        pane.hover = hover;
        pane.hoverTensor = hoverTensor;
        this.wishes.hover();
    }

    /**
     * The frame whose header is at a point, -1: none.
     * @param {{x: number, y: number}} p
     */
    headerAt(p) {
        const {scene, index} = this.pane;
        if (!scene || !index) return -1;
        const f = frameAt(scene, index, p.x, p.y);
        if (f < 0) return -1;
        const {look} = this.pane;
        const isHeader = p.y <= scene.frames[f].y + HEADER_HEIGHT;
        return isHeader || (look && holds(frameButtons(look, scene.frames[f]).cells, p)) ? f : -1;
    }

    /** @param {MouseEvent} e */
    click(e) {
        const {pane, wishes} = this;
        const {scene, index, look} = pane;
        if (!scene || !index || !look) return;
        const p = this.content(e);
        const card = cardAt(scene, index, p.x, p.y);
        if (card >= 0) {
            const {item} = scene.cards[card];
            if (pane.camera.scale >= 0.4 && holds(cardButton(look, scene.cards[card]), p)) return this.open(item);
            return wishes.select({...item, graph: pane.graph}, e.shiftKey);
        }
        const frame = this.headerAt(p);
        if (frame >= 0) return this.pressHeader(frame, p, e.shiftKey);
        const edge = edgeAt(scene, index, p.x, p.y, EDGE_REACH / pane.camera.scale);
        if (edge >= 0) return wishes.select({kind: 'tensor', id: scene.edges[edge].tensor, graph: pane.graph}, e.shiftKey);
        wishes.select(null, false);
    }

    /** @param {number} f @param {{x: number, y: number}} p @param {boolean} isSecond */
    pressHeader(f, p, isSecond) {
        const {pane, wishes} = this;
        const {scene, look} = pane;
        if (!scene || !look) return;
        const frame = scene.frames[f];
        const c = frame.container;
        const folding = look.state;
        const buttons = frameButtons(look, frame);
        /** @type {Shown} */
        const item = {kind: 'container', id: c};
        if (holds(buttons.fold, p)) return wishes.fold({states: toggled(pane.g, folding, c, STATE.folded)}, item);
        if (holds(buttons.open, p)) {
            const isOne = stateOf(pane.g, folding, c) === STATE.one;
            return wishes.fold({states: toggled(pane.g, folding, c, isOne ? STATE.open : STATE.one)}, item);
        }
        const count = childrenOf(pane.g).containers[c].length;
        const at = instanceOf(pane.g, folding, c);
        let chosen = -1;
        if (holds(buttons.back, p)) chosen = (at + count - 1) % count;
        else if (holds(buttons.next, p)) chosen = (at + 1) % count;
        else if (buttons.cells && holds(buttons.cells, p)) chosen = Math.min(Math.max(Math.floor(((p.x - buttons.cells.x) / buttons.cells.w) * count), 0), count - 1);
        if (chosen < 0) return wishes.select({...item, graph: pane.graph}, isSecond);
        const instance = new Map(folding.instance);
        instance.set(canonicalOf(pane.g)[c], chosen);
        wishes.fold({instance}, item);
    }

    /** @param {MouseEvent} e */
    twice(e) {
        const {pane, wishes} = this;
        const {scene, index, look} = pane;
        if (!scene || !index || !look) return;
        const p = this.content(e);
        const card = cardAt(scene, index, p.x, p.y);
        if (card >= 0) {
            if (holds(cardButton(look, scene.cards[card]), p)) return;
            return this.open(scene.cards[card].item);
        }
        const f = this.headerAt(p);
        if (f < 0) return;
        const frame = scene.frames[f];
        const buttons = frameButtons(look, frame);
        if ([buttons.fold, buttons.back, buttons.next, buttons.cells, buttons.open].some((box) => holds(box, p))) return;
        if (pane.g.container.kind[frame.container] === CONTAINER.instance) return;
        wishes.fold({states: toggled(pane.g, look.state, frame.container, STATE.folded)}, {kind: 'container', id: frame.container});
    }

    /**
     * Unfolds a container in place, opens the function of a node.
     * @param {Shown} item
     */
    open(item) {
        const {pane, wishes} = this;
        if (!pane.look) return;
        if (item.kind === 'node') wishes.enter(item);
        else wishes.fold({states: toggled(pane.g, pane.look.state, item.id, -1)}, item);
    }
}
