// SPDX-License-Identifier: Apache-2.0
// The timeline: rows of slices on a canvas, linked with the graph. Of slices narrower than a pixel one is drawn for each pixel, so that
// 200 000 of them pan smoothly; the same slices are a table for who cannot see the canvas.

import {data, nodeCategory, nodeName} from './data.js';
import {CATEGORY_COLOURS, textOn} from './colour.js';
import {store} from './store.js';
import {announce, button, el, fill, shown, shortened, usText} from './dom.js';
import {readTheme, texts, FONT} from './theme.js';
import {TableView} from './table_view.js';
import {goTo} from './facts.js';

/** @typedef {import('./data.js').Timeline} Timeline */

/**
 * Slices at one depth of a row: none overlaps another. Sorted by time.
 * @typedef {{row: number, depth: number, slices: Int32Array}} Lane
 */

const LANE = 20;
const PROCESS = 18;
const LABEL_WIDTH = 200;
const AXIS = 22;

/**
 * The lanes of all rows: a slice inside another lies one lane deeper.
 * @param {Timeline} timeline
 * @returns {Lane[]}
 */
export function timelineLanes(timeline) {
    const {row, start, duration} = timeline.slice;
    /** @type {number[][]} */
    const byRow = timeline.rows.map(() => []);
    for (let i = 0; i < row.length; i++) byRow[row[i]]?.push(i);
    return byRow.flatMap((slices, r) => {
        slices.sort((a, b) => start[a] - start[b] || duration[b] - duration[a] || a - b);
        /** @type {number[][]} */
        const lanes = [[]];
        /** @type {number[]} ends of the slices that are open at each depth */
        const ends = [];
        for (const slice of slices) {
            let depth = 0;
            while (depth < ends.length && ends[depth] > start[slice] + 1e-6) depth++;
            ends.length = depth;
            ends.push(start[slice] + duration[slice]);
            (lanes[depth] ??= []).push(slice);
        }
        return lanes.map((lane, depth) => ({row: r, depth, slices: Int32Array.from(lane)}));
    });
}

/**
 * The first slice of a lane that ends after a time.
 * @param {Lane} lane
 * @param {Timeline['slice']} slice
 * @param {number} time
 * @param {number} [from] where to begin
 */
export function firstAfter(lane, slice, time, from = 0) {
    let low = from;
    let high = lane.slices.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        const at = lane.slices[middle];
        if (slice.start[at] + slice.duration[at] <= time) low = middle + 1;
        else high = middle;
    }
    return low;
}

/**
 * Steps of the axis: 1, 2 or 5 times a power of ten.
 * @param {number} span
 * @param {number} most steps in it
 */
export function axisStep(span, most) {
    const least = span / Math.max(1, most);
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power;
}

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

class TimelineView {
    /** @param {HTMLElement} element @param {Timeline} timeline */
    constructor(element, timeline) {
        this.timeline = timeline;
        this.slice = timeline.slice;
        this.lanes = timelineLanes(timeline);
        /** Top of each lane, and the bottom of the last; the first lane of a process has the process's name above it. */
        this.tops = this.placeLanes();
        const [from, to] = this.extent();
        this.whole = {from, to: to > from ? to : from + 1};
        this.from = this.whole.from;
        this.to = this.whole.to;
        /** Selected slice, -1: none. */
        this.current = -1;
        this.pending = false;
        /** @type {Map<Lane, number>} */
        this.shares = new Map();
        this.canvas = el('canvas', {class: 'timeline', tabindex: 0, role: 'application', 'aria-label': 'Timeline. Left and right go to the next slice, up and down to the next row, Enter to the graph; the button "As a table" has the same as a table.'});
        this.box = el('div', {class: 'timeline-box'}, this.canvas);
        this.tip = el('div', {class: 'tip', role: 'status', hidden: true});
        this.tableBox = el('div', {class: 'grid-box', hidden: true});
        fill(element, el('div', {class: 'panel fills'}, this.makeBar(), this.box, this.tableBox), this.tip);
        this.listen();
        this.draw();
    }

    placeLanes() {
        const tops = [];
        let top = AXIS;
        for (const [k, lane] of this.lanes.entries()) {
            if (lane.depth === 0 && this.startsProcess(k)) top += PROCESS;
            tops.push(top);
            top += LANE;
        }
        return [...tops, top];
    }

    /** @param {number} k lane */
    startsProcess(k) {
        const {process} = this.timeline.rows[this.lanes[k].row];
        return process !== '' && (k === 0 || this.timeline.rows[this.lanes[k - 1].row].process !== process);
    }

    /** @returns {[number, number]} */
    extent() {
        let from = Infinity;
        let to = -Infinity;
        for (let i = 0; i < this.slice.start.length; i++) {
            from = Math.min(from, this.slice.start[i]);
            to = Math.max(to, this.slice.start[i] + this.slice.duration[i]);
        }
        return from <= to ? [from, to] : [0, 1];
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

    /** @param {number} i slice */
    laneOf(i) {
        return this.lanes.findIndex((lane) => lane.row === this.slice.row[i] && this.placeIn(lane, i) >= 0);
    }

    /** @param {Lane} lane @param {number} i slice @returns {number} -1: it is not there */
    placeIn(lane, i) {
        for (let place = firstAfter(lane, this.slice, this.slice.start[i] - 1e-6); place < lane.slices.length && this.slice.start[lane.slices[place]] <= this.slice.start[i]; place++) {
            if (lane.slices[place] === i) return place;
        }
        return -1;
    }

    // ---- Drawing ------------------------------------------------------------------------------------

    later() {
        if (this.pending) return;
        this.pending = true;
        requestAnimationFrame(() => {
            this.pending = false;
            this.draw();
        });
    }

    draw() {
        const width = this.box.clientWidth;
        const height = Math.min(Math.max(this.tops[this.lanes.length] + 4, this.box.clientHeight), 12000);
        const context = this.canvas.getContext('2d');
        if (!context || width === 0) return;
        const dots = Math.min(window.devicePixelRatio || 1, 2);
        this.width = width;
        this.canvas.width = Math.round(width * dots);
        this.canvas.height = Math.round(height * dots);
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${height}px`;
        context.setTransform(dots, 0, 0, dots, 0, 0);
        const theme = readTheme();
        context.fillStyle = theme.page;
        context.fillRect(0, 0, width, height);
        this.drawAxis(context, theme, height);
        context.save();
        context.beginPath();
        context.rect(LABEL_WIDTH, 0, width - LABEL_WIDTH, height);
        context.clip();
        this.lanes.forEach((lane, k) => this.drawLane(context, theme, lane, this.tops[k]));
        context.restore();
        this.drawLabels(context, theme);
    }

    /** @param {number} time */
    x(time) {
        return LABEL_WIDTH + ((time - this.from) / (this.to - this.from)) * ((this.width ?? 0) - LABEL_WIDTH);
    }

    /** @param {number} x */
    time(x) {
        return this.from + ((x - LABEL_WIDTH) / Math.max(1, (this.width ?? 0) - LABEL_WIDTH)) * (this.to - this.from);
    }

    /** @param {CanvasRenderingContext2D} context @param {import('./theme.js').Theme} theme @param {number} height */
    drawAxis(context, theme, height) {
        const width = this.width ?? 0;
        const step = axisStep(this.to - this.from, (width - LABEL_WIDTH) / 90);
        context.font = `11px ${FONT}`;
        context.textBaseline = 'alphabetic';
        for (let tick = Math.ceil(this.from / step) * step; tick < this.to; tick += step) {
            const x = Math.round(this.x(tick)) + 0.5;
            if (x < LABEL_WIDTH) continue;
            context.fillStyle = theme.hatch;
            context.globalAlpha = 0.5;
            context.fillRect(x, AXIS - 6, 1, height);
            context.globalAlpha = 1;
            context.fillStyle = theme.muted;
            context.fillText(usText(Math.abs(tick) < step / 1e6 ? 0 : Number(tick.toPrecision(9))), x + 3, 13);
        }
    }

    /** @param {CanvasRenderingContext2D} context @param {import('./theme.js').Theme} theme @param {Lane} lane @param {number} top */
    drawLane(context, theme, lane, top) {
        const {start, duration, node} = this.slice;
        const pixel = (this.to - this.from) / Math.max(1, (this.width ?? 0) - LABEL_WIDTH);
        const {selected} = store.get();
        const chosen = selected?.kind === 'node' && selected.graph === 0 ? selected.id : -1;
        let place = firstAfter(lane, this.slice, this.from);
        while (place < lane.slices.length) {
            const i = lane.slices[place];
            if (start[i] >= this.to) break;
            const left = Math.max(this.x(start[i]), LABEL_WIDTH - 1);
            const right = Math.min(this.x(start[i] + duration[i]), (this.width ?? 0) + 1);
            const isChosen = i === this.current || (chosen >= 0 && node[i] === chosen);
            const colour = this.colour(i);
            context.fillStyle = colour;
            if (right - left < 2) {
                context.fillRect(left, top + 2, Math.max(1, right - left), LANE - 4);
                place = firstAfter(lane, this.slice, start[i] + pixel, place + 1);
            } else {
                context.fillRect(left, top + 2, right - left - (right - left > 4 ? 1 : 0), LANE - 4);
                if (right - left > 30) this.drawName(context, i, left, right, top, colour);
                place++;
            }
            if (isChosen) {
                context.strokeStyle = theme.accent;
                context.lineWidth = i === this.current ? 3 : 2;
                context.strokeRect(left, top + 1.5, Math.max(3, right - left - 1), LANE - 3);
            }
        }
    }

    /** @param {CanvasRenderingContext2D} context @param {number} i @param {number} left @param {number} right @param {number} top @param {string} colour */
    drawName(context, i, left, right, top, colour) {
        const font = `11px ${FONT}`;
        context.font = font;
        context.fillStyle = textOn(colour);
        context.fillText(texts.fit(font, this.name(i), right - left - 8), left + 4, top + LANE - 6);
    }

    /** @param {number} i @returns {string} */
    name(i) {
        return shown(shortened(this.timeline.strings[this.slice.name[i]] ?? '', 200));
    }

    /** @param {number} i @returns {string} colour of the operator, or of the kind of slice */
    colour(i) {
        const node = this.slice.node[i];
        if (node >= 0) return CATEGORY_COLOURS.get(nodeCategory(data.graph(0), node)) ?? '#5f6b7a';
        const colours = ['#8a94a0', '#5f7a8c', '#8b6f5c', '#6d7f5e', '#7d6a8f'];
        return colours[this.slice.category[i] % colours.length];
    }

    /** @param {CanvasRenderingContext2D} context @param {import('./theme.js').Theme} theme */
    drawLabels(context, theme) {
        const font = `12px ${FONT}`;
        context.font = font;
        this.lanes.forEach((lane, k) => {
            const top = this.tops[k];
            if (lane.depth > 0) return;
            const {process, name} = this.timeline.rows[lane.row];
            context.fillStyle = theme.text;
            if (this.startsProcess(k)) {
                context.fillRect(0, top - PROCESS, this.width ?? 0, 0.5);
                context.font = `600 ${font}`;
                context.fillText(texts.fit(context.font, shown(process), (this.width ?? 0) - 12), 6, top - 5);
                context.font = font;
            }
            context.fillText(texts.fit(font, shown(name), LABEL_WIDTH - 66), 12, top + LANE - 6);
            context.fillStyle = theme.muted;
            context.fillText(this.busy(lane), LABEL_WIDTH - 50, top + LANE - 6);
        });
    }

    /**
     * The share of the row's time that slices fill.
     * @param {Lane} lane
     */
    busy(lane) {
        if (lane.slices.length === 0) return '';
        let share = this.shares.get(lane);
        if (share === undefined) {
            let sum = 0;
            for (const i of lane.slices) sum += this.slice.duration[i];
            share = sum / (this.whole.to - this.whole.from);
            this.shares.set(lane, share);
        }
        return `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
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
                const step = (event.movementX / Math.max(1, (this.width ?? 0) - LABEL_WIDTH)) * (this.to - this.from);
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

    /** @param {number} x @param {number} y @returns {number} -1: none */
    sliceAt(x, y) {
        const lane = this.lanes[this.lanes.findIndex((_, k) => y >= this.tops[k] && y < this.tops[k] + LANE)];
        if (!lane || x < LABEL_WIDTH) return -1;
        const time = this.time(x);
        const pixel = (this.to - this.from) / Math.max(1, (this.width ?? 0) - LABEL_WIDTH);
        const i = lane.slices[firstAfter(lane, this.slice, time - pixel)];
        return i !== undefined && this.slice.start[i] <= time + pixel ? i : -1;
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
