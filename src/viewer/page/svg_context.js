// SPDX-License-Identifier: Apache-2.0
// A drawing context that makes SVG elements instead of pixels, so that exports are drawn by the code that draws the page. It has what that
// code uses of CanvasRenderingContext2D.

import {shown, svgElement} from './dom.js';

/** @typedef {[number, number, number, number, number, number]} Matrix */
/** @typedef {{matrix: Matrix, fillStyle: string, strokeStyle: string, lineWidth: number, lineCap: string, lineJoin: string, font: string, textAlign: string, textBaseline: string, globalAlpha: number, dash: number[], parent: SVGElement}} SvgState */

/** @param {number} value */
function svgNumber(value) {
    return String(Math.round(value * 100) / 100);
}

export class SvgContext {
    /** @param {number} width @param {number} height */
    constructor(width, height) {
        this.root = svgElement('svg', {viewBox: `0 0 ${svgNumber(width)} ${svgNumber(height)}`, width: svgNumber(width), height: svgNumber(height)});
        this.canvas = {width, height};
        /** @type {SvgState[]} */
        this.saved = [];
        /** @type {SvgState} */
        this.state = {
            matrix: [1, 0, 0, 1, 0, 0], fillStyle: '#000000', strokeStyle: '#000000', lineWidth: 1, lineCap: 'butt', lineJoin: 'miter', font: '10px sans-serif',
            textAlign: 'start', textBaseline: 'alphabetic', globalAlpha: 1, dash: [], parent: this.root,
        };
        this.path = '';
        this.clips = 0;
        this.lineDashOffset = 0;
        this.measurer = document.createElement('canvas').getContext('2d');
    }

    get fillStyle() { return this.state.fillStyle; }
    set fillStyle(value) { this.state.fillStyle = typeof value === 'string' ? value : '#808080'; }
    get strokeStyle() { return this.state.strokeStyle; }
    set strokeStyle(value) { this.state.strokeStyle = typeof value === 'string' ? value : '#808080'; }
    get lineWidth() { return this.state.lineWidth; }
    set lineWidth(value) { this.state.lineWidth = value; }
    get lineCap() { return this.state.lineCap; }
    set lineCap(value) { this.state.lineCap = value; }
    get lineJoin() { return this.state.lineJoin; }
    set lineJoin(value) { this.state.lineJoin = value; }
    get font() { return this.state.font; }
    set font(value) { this.state.font = value; }
    get textAlign() { return this.state.textAlign; }
    set textAlign(value) { this.state.textAlign = value; }
    get textBaseline() { return this.state.textBaseline; }
    set textBaseline(value) { this.state.textBaseline = value; }
    get globalAlpha() { return this.state.globalAlpha; }
    set globalAlpha(value) { this.state.globalAlpha = value; }

    save() {
        this.saved.push({...this.state});
    }

    restore() {
        this.state = this.saved.pop() ?? this.state;
    }

    // ---- Transforms: only what moves, scales and turns by the matrix --------------------------------

    /** @param {number} a @param {number} b @param {number} c @param {number} d @param {number} e @param {number} f */
    setTransform(a, b, c, d, e, f) {
        this.state.matrix = [a, b, c, d, e, f];
    }

    resetTransform() {
        this.state.matrix = [1, 0, 0, 1, 0, 0];
    }

    /** @param {number} a @param {number} b @param {number} c @param {number} d @param {number} e @param {number} f */
    transform(a, b, c, d, e, f) {
        const m = this.state.matrix;
        this.state.matrix = [m[0] * a + m[2] * b, m[1] * a + m[3] * b, m[0] * c + m[2] * d, m[1] * c + m[3] * d, m[0] * e + m[2] * f + m[4], m[1] * e + m[3] * f + m[5]];
    }

    /** @param {number} x @param {number} y */
    translate(x, y) {
        this.transform(1, 0, 0, 1, x, y);
    }

    /** @param {number} x @param {number} y */
    scale(x, y) {
        this.transform(x, 0, 0, y, 0, 0);
    }

    /** @param {number} angle */
    rotate(angle) {
        this.transform(Math.cos(angle), Math.sin(angle), -Math.sin(angle), Math.cos(angle), 0, 0);
    }

    /** @param {number} x @param {number} y @returns {string} */
    point(x, y) {
        const m = this.state.matrix;
        return `${svgNumber(m[0] * x + m[2] * y + m[4])} ${svgNumber(m[1] * x + m[3] * y + m[5])}`;
    }

    size() {
        const m = this.state.matrix;
        return Math.sqrt(Math.abs(m[0] * m[3] - m[1] * m[2]));
    }

    // ---- Paths --------------------------------------------------------------------------------------

    beginPath() {
        this.path = '';
    }

    closePath() {
        if (this.path !== '') this.path += 'Z';
    }

    /** @param {number} x @param {number} y */
    moveTo(x, y) {
        this.path += `M${this.point(x, y)}`;
    }

    /** @param {number} x @param {number} y */
    lineTo(x, y) {
        this.path += `${this.path === '' ? 'M' : 'L'}${this.point(x, y)}`;
    }

    /** @param {number} ax @param {number} ay @param {number} bx @param {number} by @param {number} x @param {number} y */
    bezierCurveTo(ax, ay, bx, by, x, y) {
        this.path += `C${this.point(ax, ay)} ${this.point(bx, by)} ${this.point(x, y)}`;
    }

    /** @param {number} ax @param {number} ay @param {number} x @param {number} y */
    quadraticCurveTo(ax, ay, x, y) {
        this.path += `Q${this.point(ax, ay)} ${this.point(x, y)}`;
    }

    /** @param {number} x @param {number} y @param {number} w @param {number} h */
    rect(x, y, w, h) {
        this.path += `M${this.point(x, y)}L${this.point(x + w, y)}L${this.point(x + w, y + h)}L${this.point(x, y + h)}Z`;
    }

    /** @param {number} x @param {number} y @param {number} w @param {number} h @param {number | number[]} radii */
    roundRect(x, y, w, h, radii) {
        const list = Array.isArray(radii) ? radii : [radii];
        const most = Math.min(Math.abs(w), Math.abs(h)) / 2;
        const [tl, tr, br, bl] = [0, 1, 2, 3].map((k) => list[k] ?? list[k - 2] ?? list[0]).map((radius) => Math.min(radius, most));
        this.moveTo(x + tl, y);
        this.lineTo(x + w - tr, y);
        this.quadraticCurveTo(x + w, y, x + w, y + tr);
        this.lineTo(x + w, y + h - br);
        this.quadraticCurveTo(x + w, y + h, x + w - br, y + h);
        this.lineTo(x + bl, y + h);
        this.quadraticCurveTo(x, y + h, x, y + h - bl);
        this.lineTo(x, y + tl);
        this.quadraticCurveTo(x, y, x + tl, y);
        this.closePath();
    }

    /** @param {number} x @param {number} y @param {number} radius @param {number} start @param {number} end @param {boolean} [back] */
    arc(x, y, radius, start, end, back = false) {
        const turn = 2 * Math.PI;
        const along = back ? start - end : end - start;
        const size = along >= turn ? turn : ((along % turn) + turn) % turn;
        const sweep = back ? -size : size;
        const parts = Math.max(1, Math.ceil(size / (Math.PI / 2) - 1e-9));
        const step = sweep / parts;
        const reach = (4 / 3) * Math.tan(step / 4) * radius;
        this.lineTo(x + radius * Math.cos(start), y + radius * Math.sin(start));
        for (let i = 0; i < parts; i++) {
            const [from, to] = [start + i * step, start + (i + 1) * step];
            this.bezierCurveTo(
                x + radius * Math.cos(from) - reach * Math.sin(from), y + radius * Math.sin(from) + reach * Math.cos(from),
                x + radius * Math.cos(to) + reach * Math.sin(to), y + radius * Math.sin(to) - reach * Math.cos(to), x + radius * Math.cos(to), y + radius * Math.sin(to));
        }
    }

    // ---- Drawing ------------------------------------------------------------------------------------

    /** @param {string} tag @param {{[name: string]: string | number}} attributes @param {string} [text] */
    add(tag, attributes, text) {
        const alpha = this.state.globalAlpha;
        const made = svgElement(tag, alpha < 1 ? {...attributes, opacity: svgNumber(alpha)} : attributes);
        if (text !== undefined) made.textContent = text;
        this.state.parent.append(made);
    }

    fill() {
        if (this.path !== '') this.add('path', {d: this.path, fill: this.state.fillStyle});
    }

    stroke() {
        if (this.path !== '' && this.state.strokeStyle !== 'transparent') this.add('path', {d: this.path, ...this.strokeAttributes()});
    }

    strokeAttributes() {
        const {strokeStyle, lineWidth, lineCap, lineJoin, dash} = this.state;
        const size = this.size();
        /** @type {{[name: string]: string}} */
        const attributes = {fill: 'none', stroke: strokeStyle, 'stroke-width': svgNumber(lineWidth * size)};
        if (lineCap !== 'butt') attributes['stroke-linecap'] = lineCap;
        if (lineJoin !== 'miter') attributes['stroke-linejoin'] = lineJoin;
        if (dash.length > 0) attributes['stroke-dasharray'] = dash.map((part) => svgNumber(part * size)).join(' ');
        return attributes;
    }

    /** @param {number} x @param {number} y @param {number} w @param {number} h */
    fillRect(x, y, w, h) {
        const before = this.path;
        this.path = '';
        this.rect(x, y, w, h);
        this.fill();
        this.path = before;
    }

    /** @param {number} x @param {number} y @param {number} w @param {number} h */
    strokeRect(x, y, w, h) {
        const before = this.path;
        this.path = '';
        this.rect(x, y, w, h);
        this.stroke();
        this.path = before;
    }

    clearRect() {}

    /** @param {number[]} dash */
    setLineDash(dash) {
        this.state.dash = [...dash];
    }

    clip() {
        const id = `clip-${++this.clips}`;
        this.state.parent.append(svgElement('clipPath', {id}, svgElement('path', {d: this.path})));
        const group = svgElement('g', {'clip-path': `url(#${id})`});
        this.state.parent.append(group);
        this.state.parent = group;
    }

    /** @param {string} text @returns {{width: number}} */
    measureText(text) {
        if (!this.measurer) return {width: text.length * 6};
        this.measurer.font = this.state.font;
        return this.measurer.measureText(text);
    }

    /** @param {string} text @param {number} x @param {number} y */
    fillText(text, x, y) {
        const {font, textAlign, textBaseline, fillStyle, matrix} = this.state;
        const found = /^(italic )?(?:(bold|[1-9]00) )?([\d.]+)px (.+)$/.exec(font);
        const size = Number(found?.[3] ?? 10);
        // Not all programs that read SVG know dominant-baseline, so the base line is moved by numbers.
        const down = {middle: 0.35, top: 0.8, hanging: 0.8, bottom: -0.2}[textBaseline] ?? 0;
        const isTurned = matrix[1] !== 0 || matrix[2] !== 0;
        /** @type {{[name: string]: string}} */
        const attributes = {fill: fillStyle, 'font-family': found?.[4] ?? 'sans-serif', 'font-size': svgNumber(isTurned ? size : size * this.size())};
        const at = isTurned ? `${svgNumber(x)} ${svgNumber(y + down * size)}` : this.point(x, y + down * size);
        [attributes.x, attributes.y] = at.split(' ');
        if (isTurned) attributes.transform = `matrix(${matrix.map(svgNumber).join(' ')})`;
        if (found?.[1]) attributes['font-style'] = 'italic';
        if (found?.[2]) attributes['font-weight'] = found[2];
        if (textAlign === 'center') attributes['text-anchor'] = 'middle';
        if (textAlign === 'right' || textAlign === 'end') attributes['text-anchor'] = 'end';
        this.add('text', attributes, shown(text));
    }

    /** @returns {string} the file */
    text() {
        return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(this.root)}\n`;
    }
}
