// SPDX-License-Identifier: Apache-2.0
// Marks: each kind has a shape and a letter of its own, so that a print without colour can be read.

/** @typedef {import('./theme.js').Theme} Theme */
/** @typedef {{shape: 'circle' | 'diamond' | 'triangle' | 'square' | 'flag' | 'ring' | 'octagon', letter: string, fill: string, text: string, title: string}} MarkLook */

/** @type {Map<string, MarkLook>} */
export const MARK_LOOKS = new Map([
    ['first', {shape: 'flag', letter: '1', fill: '#b3261e', text: '#ffffff', title: 'first failing'}],
    ['nan', {shape: 'diamond', letter: 'N', fill: '#c2185b', text: '#ffffff', title: 'NaN'}],
    ['inf', {shape: 'diamond', letter: '∞', fill: '#c2185b', text: '#ffffff', title: 'infinite'}],
    ['fail', {shape: 'circle', letter: '×', fill: '#d55e00', text: '#ffffff', title: 'beyond tolerance'}],
    ['contradiction', {shape: 'triangle', letter: '!', fill: '#b3261e', text: '#ffffff', title: 'shapes contradict'}],
    ['unsupported', {shape: 'octagon', letter: '–', fill: '#5a6572', text: '#ffffff', title: 'not supported'}],
    ['not_run', {shape: 'ring', letter: '', fill: '#8a94a0', text: '#1b2026', title: 'not run'}],
    ['finding', {shape: 'square', letter: 'i', fill: '#0072b2', text: '#ffffff', title: 'finding'}],
    ['removed', {shape: 'square', letter: '−', fill: '#b4570a', text: '#ffffff', title: 'removed'}],
    ['added', {shape: 'square', letter: '+', fill: '#1f5fa8', text: '#ffffff', title: 'added'}],
    ['changed', {shape: 'square', letter: '≠', fill: '#e69f00', text: '#000000', title: 'changed'}],
    ['precision', {shape: 'triangle', letter: 'p', fill: '#7453a6', text: '#ffffff', title: 'precision changes'}],
    ['fused', {shape: 'octagon', letter: 'f', fill: '#cc79a7', text: '#000000', title: 'fused'}],
    ['bookmark', {shape: 'flag', letter: '', fill: '#0b62d6', text: '#ffffff', title: 'bookmark'}],
]);

export const MARK_SIZE = 15;

/**
 * Draws a mark around a point.
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} kind
 * @param {number} x
 * @param {number} y
 * @param {number} size
 * @param {string} halo  colour around it
 * @param {string} font
 */
export function drawMark(ctx, kind, x, y, size, halo, font) {
    const look = MARK_LOOKS.get(kind);
    if (!look) return;
    ctx.beginPath();
    traceShape(ctx, look.shape, x, y, size / 2);
    ctx.lineWidth = size / 6;
    ctx.strokeStyle = halo;
    ctx.stroke();
    ctx.fillStyle = look.shape === 'ring' ? halo : look.fill;
    ctx.fill();
    if (look.shape === 'ring') {
        ctx.lineWidth = size / 8;
        ctx.strokeStyle = look.fill;
        ctx.setLineDash([size / 6, size / 6]);
        ctx.stroke();
        ctx.setLineDash([]);
    }
    if (!look.letter) return;
    ctx.fillStyle = look.text;
    ctx.font = '700 ' + size * 0.66 + 'px ' + font;
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    ctx.fillText(look.letter, x, y + (look.shape === 'triangle' ? size * 0.1 : size * 0.03));
    ctx.textAlign = 'left';
    ctx.textBaseline = 'alphabetic';
}

/** @param {CanvasRenderingContext2D} ctx @param {string} shape @param {number} x @param {number} y @param {number} r */
function traceShape(ctx, shape, x, y, r) {
    /** @param {number[]} points  in units of r */
    const polygon = (points) => {
        for (let i = 0; i < points.length; i += 2) {
            if (i === 0) ctx.moveTo(x + points[0] * r, y + points[1] * r);
            else ctx.lineTo(x + points[i] * r, y + points[i + 1] * r);
        }
        ctx.closePath();
    };
    switch (shape) {
        case 'diamond':
            return polygon([0, -1.15, 1.15, 0, 0, 1.15, -1.15, 0]);
        case 'triangle':
            return polygon([0, -1.1, 1.12, 0.9, -1.12, 0.9]);
        case 'square':
            return polygon([-0.9, -0.9, 0.9, -0.9, 0.9, 0.9, -0.9, 0.9]);
        case 'flag':
            return polygon([-0.95, -1, 0.95, -1, 0.55, 0, 0.95, 1, -0.95, 1]);
        case 'octagon':
            return polygon([-0.42, -1, 0.42, -1, 1, -0.42, 1, 0.42, 0.42, 1, -0.42, 1, -1, 0.42, -1, -0.42]);
        default:
            ctx.arc(x, y, r, 0, Math.PI * 2);
            ctx.closePath();
    }
}

/**
 * Adds a box with round corners to the path.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} h
 * @param {number} top  radius of the upper corners
 * @param {number} bottom  of the lower ones
 */
export function roundBox(ctx, x, y, w, h, top, bottom) {
    const [a, b] = [Math.min(top, w / 2, h / 2), Math.min(bottom, w / 2, h / 2)];
    const quarter = Math.PI / 2;
    ctx.moveTo(x + a, y);
    ctx.lineTo(x + w - a, y);
    if (a > 0) ctx.arc(x + w - a, y + a, a, -quarter, 0);
    ctx.lineTo(x + w, y + h - b);
    if (b > 0) ctx.arc(x + w - b, y + h - b, b, 0, quarter);
    ctx.lineTo(x + b, y + h);
    if (b > 0) ctx.arc(x + b, y + h - b, b, quarter, 2 * quarter);
    ctx.lineTo(x, y + a);
    if (a > 0) ctx.arc(x + a, y + a, a, 2 * quarter, 3 * quarter);
    ctx.closePath();
}
