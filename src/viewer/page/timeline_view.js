// SPDX-License-Identifier: Apache-2.0
// The timeline: its picture with mouse, keys and buttons, linked with the graph; the same slices are a table for who cannot see the canvas.

import {data, nodeName} from './data.js';
import {store} from './store.js';
import {announce, button, el, fill, shown, shortened, usText} from './dom.js';
import {TableView} from './table_view.js';
import {goTo} from './facts.js';
import {firstAfter} from './timeline_lanes.js';
import {AXIS, LANE, TimelinePicture} from './timeline_picture.js';

/** @typedef {import('./data.js').Timeline} Timeline */

/** @param {HTMLElement} element */
export function mountTimeline(element) {
    /** @type {TimelineView | null} */
    let view = null;
    const open = (/** @type {Set<string>} */ changed) => {
        if (store.get().view !== 'timeline') return;
        const timeline = data.timeline();
        if (!timeline) store.set({view: 'graph'});
        else if (!view) {
            view = new TimelineView(element, timeline);
            view.follow();
        } else if (changed.has('selected') || changed.has('view')) view.follow();
    };
    store.on(open);
    open(new Set());
}

class TimelineView extends TimelinePicture {
    /** @param {HTMLElement} element @param {Timeline} timeline */
    constructor(element, timeline) {
        super(timeline);
        this.pending = false;
        this.tip = el('div', {class: 'tip', role: 'status', hidden: true});
        this.tableBox = el('div', {class: 'grid-box', hidden: true});
        fill(element, el('div', {class: 'panel fills'}, this.makeBar(), this.box, this.tableBox), this.tip);
        this.listen();
        this.draw();
    }

    makeBar() {
        const {source, synthetic, note} = this.timeline;
        const runs = [...new Set(this.slice.run)].filter((run) => run >= 0).sort((a, b) => a - b);
        const choice = el('select', {'aria-label': 'Iteration', on: {change: (event) => this.showRun(event.target.value)}}, el('option', {value: ''}, 'all iterations'),
            ...runs.slice(0, 1000).map((run) => el('option', {value: run}, `iteration ${run}`)));
        const table = button('As a table', () => {
            this.tableBox.hidden = !this.tableBox.hidden;
            this.box.hidden = !this.tableBox.hidden;
            table.setAttribute('aria-pressed', String(this.box.hidden));
            if (this.box.hidden) this.makeTable();
            else this.draw();
        }, {'aria-pressed': 'false'});
        return el('div', {class: 'actions'}, el('h2', {}, 'Timeline'), el('span', {class: 'type'}, `${shown(source)}, ${this.slice.start.length} slices`), runs.length > 0 && choice,
            button('+', () => this.zoom(0.5), {'aria-label': 'Zoom in'}), button('\u2212', () => this.zoom(2), {'aria-label': 'Zoom out'}), button('All', () => this.move(this.whole.from, this.whole.to)), table,
            synthetic && el('span', {class: 'synthetic'}, 'Synthetic: the file has only sums, so layers are laid end to end.'), note && el('span', {class: 'note'}, shown(note)));
    }

    // ---- What is seen -------------------------------------------------------------------------------

    /** @param {number} from @param {number} to */
    move(from, to) {
        const least = Math.max((this.whole.to - this.whole.from) * 1e-7, 1e-3);
        const span = Math.min(Math.max(to - from, least), (this.whole.to - this.whole.from) * 1.02);
        const start = Math.min(Math.max(from, this.whole.from - span * 0.5), this.whole.to - span * 0.5);
        this.from = start;
        this.to = start + span;
        this.later();
    }

    /** @param {number} factor @param {number} [at] time that stays where it is */
    zoom(factor, at = (this.from + this.to) / 2) {
        const span = Math.min((this.to - this.from) * factor, (this.whole.to - this.whole.from) * 1.02);
        const share = (at - this.from) / (this.to - this.from);
        this.move(at - share * span, at - share * span + span);
    }

    /** @param {string} run */
    showRun(run) {
        if (run === '') {
            this.move(this.whole.from, this.whole.to);
            return;
        }
        let from = Infinity;
        let to = -Infinity;
        this.slice.run.forEach((one, i) => {
            if (one !== Number(run)) return;
            from = Math.min(from, this.slice.start[i]);
            to = Math.max(to, this.slice.start[i] + this.slice.duration[i]);
        });
        const spare = (to - from) * 0.02;
        this.move(from - spare, to + spare);
    }

    /** Shows the slices of the selected node: if none is seen, it goes to the first. */
    follow() {
        const {selected} = store.get();
        const isOurs = selected?.kind === 'node' && selected.graph === 0;
        if (isOurs && this.slice.node[this.current] !== selected.id) {
            /** @type {number[]} */
            const all = [];
            this.slice.node.forEach((node, i) => node === selected.id && all.push(i));
            const seen = all.find((i) => this.slice.start[i] < this.to && this.slice.start[i] + this.slice.duration[i] > this.from);
            this.current = seen ?? all[0] ?? -1;
            if (seen === undefined && this.current >= 0) this.reveal(this.current);
        } else if (!isOurs) this.current = -1;
        this.later();
    }

    /** @param {number} i slice */
    reveal(i) {
        const span = Math.max(this.to - this.from, this.slice.duration[i] * 1.5);
        const middle = this.slice.start[i] + this.slice.duration[i] / 2;
        if (this.slice.start[i] < this.from || this.slice.start[i] + this.slice.duration[i] > this.to) this.move(middle - span / 2, middle + span / 2);
        const lane = this.laneOf(i);
        const top = this.tops[lane];
        if (top < this.box.scrollTop + AXIS) this.box.scrollTop = top - AXIS;
        else if (top + LANE > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + LANE - this.box.clientHeight;
    }

    later() {
        if (this.pending) return;
        this.pending = true;
        requestAnimationFrame(() => {
            this.pending = false;
            this.draw();
        });
    }

    // ---- Pointer and keys ---------------------------------------------------------------------------

    listen() {
        const {canvas} = this;
        new ResizeObserver(() => this.later()).observe(this.box);
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.later());
        canvas.addEventListener('wheel', (event) => {
            event.preventDefault();
            const span = this.to - this.from;
            const isPan = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
            if (isPan) this.move(this.from + (span * (event.deltaX || event.deltaY)) / 1000, this.to + (span * (event.deltaX || event.deltaY)) / 1000);
            else this.zoom(Math.exp(Math.min(Math.max(event.deltaY, -300), 300) / 400), this.time(event.offsetX));
        }, {passive: false});
        let dragged = 0;
        canvas.addEventListener('pointerdown', (event) => {
            dragged = 0;
            canvas.setPointerCapture(event.pointerId);
        });
        canvas.addEventListener('pointermove', (event) => {
            if (event.buttons & 1) {
                dragged += Math.abs(event.movementX) + Math.abs(event.movementY);
                const step = (event.movementX / Math.max(1, this.width - this.labels)) * (this.to - this.from);
                this.move(this.from - step, this.to - step);
                this.box.scrollTop -= event.movementY;
                this.tip.hidden = true;
            } else this.point(event);
        });
        canvas.addEventListener('pointerleave', () => {
            this.tip.hidden = true;
            store.set({hover: null});
        });
        canvas.addEventListener('click', (event) => dragged < 4 && this.select(this.sliceAt(event.offsetX, event.offsetY)));
        canvas.addEventListener('dblclick', (event) => this.enter(this.sliceAt(event.offsetX, event.offsetY)));
        canvas.addEventListener('keydown', (event) => this.key(event));
    }

    /** @param {PointerEvent} event */
    point(event) {
        const i = this.sliceAt(event.offsetX, event.offsetY);
        this.tip.hidden = i < 0;
        this.canvas.classList.toggle('pointing', i >= 0);
        const node = i >= 0 ? this.slice.node[i] : -1;
        store.set({hover: node >= 0 ? {kind: 'node', id: node, graph: 0} : null});
        if (i < 0) return;
        fill(this.tip, el('strong', {}, this.name(i)), el('br'), this.describe(i));
        this.tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - this.tip.offsetWidth - 8)}px`;
        this.tip.style.top = `${Math.min(event.clientY + 16, window.innerHeight - this.tip.offsetHeight - 8)}px`;
    }

    /** @param {number} i */
    describe(i) {
        const {start, duration, category, node, run} = this.slice;
        const parts = [usText(duration[i]), `at ${usText(start[i])}`];
        const kind = this.timeline.strings[category[i]];
        if (kind) parts.push(shown(kind));
        if (run[i] >= 0) parts.push(`iteration ${run[i]}`);
        if (node[i] >= 0) parts.push(`node ${shown(shortened(nodeName(data.graph(0), node[i]), 80))}`);
        return parts.join(' · ');
    }

    /** @param {number} i slice, -1: none */
    select(i) {
        this.current = i;
        const node = i >= 0 ? this.slice.node[i] : -1;
        store.set({selected: node >= 0 ? {kind: 'node', id: node, graph: 0} : null});
        if (i >= 0) announce(`${this.name(i)}, ${this.describe(i)}`);
        this.later();
    }

    /**
     * Goes to the graph.
     * @param {number} i slice
     */
    enter(i) {
        if (i >= 0 && this.slice.node[i] >= 0) goTo({kind: 'node', id: this.slice.node[i], graph: 0});
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const span = this.to - this.from;
        switch (event.key) {
        case 'ArrowLeft':
        case 'ArrowRight':
            if (event.shiftKey) this.move(this.from + (event.key === 'ArrowLeft' ? -0.2 : 0.2) * span, this.to + (event.key === 'ArrowLeft' ? -0.2 : 0.2) * span);
            else this.walk(event.key === 'ArrowLeft' ? -1 : 1);
            break;
        case 'ArrowUp':
        case 'ArrowDown':
            this.climb(event.key === 'ArrowUp' ? -1 : 1);
            break;
        case '+':
        case '=':
            this.zoom(0.5);
            break;
        case '-':
            this.zoom(2);
            break;
        case '0':
            this.move(this.whole.from, this.whole.to);
            break;
        case 'Enter':
            this.enter(this.current);
            break;
        default:
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }

    /**
     * To the next slice of the lane.
     * @param {1 | -1} step
     */
    walk(step) {
        const lane = this.lanes[this.current < 0 ? 0 : this.laneOf(this.current)];
        if (!lane || lane.slices.length === 0) return;
        const place = this.current < 0 ? firstAfter(lane, this.slice, this.from) : this.placeIn(lane, this.current) + step;
        this.choose(lane.slices[Math.min(Math.max(place, 0), lane.slices.length - 1)]);
    }

    /**
     * To the slice above or below.
     * @param {1 | -1} step
     */
    climb(step) {
        if (this.current < 0) {
            this.walk(1);
            return;
        }
        let k = this.laneOf(this.current) + step;
        while (this.lanes[k]?.slices.length === 0) k += step;
        const lane = this.lanes[k];
        if (!lane) return;
        const place = Math.min(firstAfter(lane, this.slice, this.slice.start[this.current]), lane.slices.length - 1);
        this.choose(lane.slices[place]);
    }

    /** @param {number} i slice */
    choose(i) {
        this.select(i);
        this.reveal(i);
    }

    makeTable() {
        if (this.tableBox.childNodes.length > 0) return;
        const {rows, strings} = this.timeline;
        const {row, start, duration, name, category, node, run} = this.slice;
        new TableView(this.tableBox, {
            label: 'Slices', rows: start.length, file: 'timeline', choose: (i) => this.select(i),
            columns: [
                {name: 'Name', kind: 'text', value: (i) => strings[name[i]] ?? '', item: (i) => (node[i] >= 0 ? {kind: 'node', id: node[i], graph: 0} : null)},
                {name: 'Start', kind: 'us', value: (i) => start[i]}, {name: 'Duration', kind: 'us', value: (i) => duration[i]},
                {name: 'Row', kind: 'text', value: (i) => `${rows[row[i]]?.process ?? ''} ${rows[row[i]]?.name ?? ''}`.trim()},
                {name: 'Kind', kind: 'text', value: (i) => strings[category[i]] ?? ''}, {name: 'Iteration', kind: 'number', value: (i) => (run[i] >= 0 ? run[i] : null)},
            ],
        });
    }
}
