// SPDX-License-Identifier: Apache-2.0
// The picture of a timeline: rows of slices on a canvas. Of slices narrower than a pixel one is drawn for each pixel, so that 200 000 of them pan
// smoothly.

import {data, nodeCategory} from './data.js';
import {CATEGORY_COLOURS, textOn} from './colour.js';
import {store} from './store.js';
import {el, shown, shortened, usText} from './dom.js';
import {readTheme, texts, FONT} from './theme.js';
import {axisStep, firstAfter, timelineLanes} from './timeline_lanes.js';

/** @typedef {import('./data.js').Timeline} Timeline */
/** @typedef {import('./timeline_lanes.js').Lane} Lane */

export const LANE = 20;
export const AXIS = 22;
const PROCESS = 18;
const LABELS_MOST = 200;

export class TimelinePicture {
    /** @param {Timeline} timeline */
    constructor(timeline) {
        this.timeline = timeline;
        this.slice = timeline.slice;
        this.lanes = timelineLanes(timeline);
        /** Top of each lane, and the bottom of the last; the first lane of a process has the process's name above it. */
        this.tops = this.placeLanes();
        const [from, to] = this.extent();
        this.whole = {from, to: to > from ? to : from + 1};
        this.from = this.whole.from;
        this.to = this.whole.to;
        this.width = 0;
        /** Width of the names of rows. */
        this.labels = LABELS_MOST;
        /** Selected slice, -1: none. */
        this.current = -1;
        /** @type {Map<Lane, number>} */
        this.shares = new Map();
        this.canvas = el('canvas', {class: 'timeline', tabindex: 0, role: 'application', 'aria-label': 'Timeline. Left and right go to the next slice, up and down to the next row, Enter to the graph; the button "As a table" has the same as a table.'});
        this.box = el('div', {class: 'timeline-box'}, this.canvas);
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

    draw() {
        const width = this.box.clientWidth;
        const height = Math.min(Math.max(this.tops[this.lanes.length] + 4, this.box.clientHeight), 12000);
        const context = this.canvas.getContext('2d');
        if (!context || width === 0) return;
        const dots = Math.min(window.devicePixelRatio || 1, 2);
        this.width = width;
        this.labels = Math.min(LABELS_MOST, Math.round(width * 0.36));
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
        context.rect(this.labels, 0, width - this.labels, height);
        context.clip();
        this.lanes.forEach((lane, k) => this.drawLane(context, theme, lane, this.tops[k]));
        context.restore();
        this.drawLabels(context, theme);
    }

    /** @param {number} time */
    x(time) {
        return this.labels + ((time - this.from) / (this.to - this.from)) * (this.width - this.labels);
    }

    /** @param {number} x */
    time(x) {
        return this.from + ((x - this.labels) / Math.max(1, this.width - this.labels)) * (this.to - this.from);
    }

    /** @param {CanvasRenderingContext2D} context @param {import('./theme.js').Theme} theme @param {number} height */
    drawAxis(context, theme, height) {
        const width = this.width;
        const step = axisStep(this.to - this.from, (width - this.labels) / 90);
        context.font = `11px ${FONT}`;
        context.textBaseline = 'alphabetic';
        for (let tick = Math.ceil(this.from / step) * step; tick < this.to; tick += step) {
            const x = Math.round(this.x(tick)) + 0.5;
            if (x < this.labels) continue;
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
        const pixel = (this.to - this.from) / Math.max(1, this.width - this.labels);
        const {selected} = store.get();
        const chosen = selected?.kind === 'node' && selected.graph === 0 ? selected.id : -1;
        let place = firstAfter(lane, this.slice, this.from);
        while (place < lane.slices.length) {
            const i = lane.slices[place];
            if (start[i] >= this.to) break;
            const left = Math.max(this.x(start[i]), this.labels - 1);
            const right = Math.min(this.x(start[i] + duration[i]), this.width + 1);
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
                context.fillRect(0, top - PROCESS, this.width, 0.5);
                context.font = `600 ${font}`;
                context.fillText(texts.fit(context.font, shown(process), this.width - 12), 6, top - 5);
                context.font = font;
            }
            context.fillText(texts.fit(font, shown(name), this.labels - 66), 12, top + LANE - 6);
            context.fillStyle = theme.muted;
            context.fillText(this.busy(lane), this.labels - 50, top + LANE - 6);
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

    /** @param {number} x @param {number} y @returns {number} -1: none */
    sliceAt(x, y) {
        const lane = this.lanes[this.lanes.findIndex((_, k) => y >= this.tops[k] && y < this.tops[k] + LANE)];
        if (!lane || x < this.labels) return -1;
        const time = this.time(x);
        const pixel = (this.to - this.from) / Math.max(1, this.width - this.labels);
        const i = lane.slices[firstAfter(lane, this.slice, time - pixel)];
        return i !== undefined && this.slice.start[i] <= time + pixel ? i : -1;
    }
}
