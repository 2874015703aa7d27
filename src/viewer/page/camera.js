// SPDX-License-Identifier: Apache-2.0
// From content to the screen and back: the camera is the content point in the middle of the view and a scale.

/** @typedef {{x: number, y: number, scale: number}} Camera */
/** @typedef {{w: number, h: number}} Size  of the view in CSS pixels */
/** @typedef {import('./grid.js').Box} Box */

export const SCALE_MIN = 0.002;
export const SCALE_MAX = 4;
const MARGIN = 24;

/** @param {number} scale */
export function limitScale(scale) {
    return Math.min(Math.max(scale, SCALE_MIN), SCALE_MAX);
}

/** @param {Camera} c @param {Size} view @param {number} x @param {number} y @returns {{x: number, y: number}} */
export function toScreen(c, view, x, y) {
    return {x: (x - c.x) * c.scale + view.w / 2, y: (y - c.y) * c.scale + view.h / 2};
}

/** @param {Camera} c @param {Size} view @param {number} x @param {number} y @returns {{x: number, y: number}} */
export function toContent(c, view, x, y) {
    return {x: (x - view.w / 2) / c.scale + c.x, y: (y - view.h / 2) / c.scale + c.y};
}

/**
 * The part of the content that is seen.
 * @param {Camera} c
 * @param {Size} view
 * @returns {Box}
 */
export function seen(c, view) {
    return {x: c.x - view.w / 2 / c.scale, y: c.y - view.h / 2 / c.scale, w: view.w / c.scale, h: view.h / c.scale};
}

/**
 * Zooms; the point under (x, y) of the screen stays there.
 * @param {Camera} c
 * @param {Size} view
 * @param {number} factor
 * @param {number} x
 * @param {number} y
 * @returns {Camera}
 */
export function zoomAt(c, view, factor, x, y) {
    const scale = limitScale(c.scale * factor);
    const at = toContent(c, view, x, y);
    return {x: at.x - (x - view.w / 2) / scale, y: at.y - (y - view.h / 2) / scale, scale};
}

/** @param {Camera} c @param {number} dx  in CSS pixels @param {number} dy @returns {Camera} */
export function pan(c, dx, dy) {
    return {x: c.x - dx / c.scale, y: c.y - dy / c.scale, scale: c.scale};
}

/**
 * The whole of a box, not larger than 1:1.
 * @param {Box} box
 * @param {Size} view
 * @returns {Camera}
 */
export function fitBox(box, view) {
    const scale = Math.min((view.w - 2 * MARGIN) / Math.max(box.w, 1), (view.h - 2 * MARGIN) / Math.max(box.h, 1), 1);
    return {x: box.x + box.w / 2, y: box.y + box.h / 2, scale: limitScale(scale)};
}

/**
 * The first picture: whole if its text can be read, else the beginning.
 * @param {Size} content
 * @param {Size} view
 * @param {boolean} horizontal
 * @param {number} start where the first card stands across
 * @returns {Camera}
 */
export function firstCamera(content, view, horizontal, start) {
    const fit = fitBox({x: 0, y: 0, ...content}, view);
    const least = 0.75;
    if (fit.scale >= least) return fit;
    const across = horizontal ? view.h / content.h : view.w / content.w;
    const scale = limitScale(Math.min(Math.max(across * 0.95, least), 1));
    const [w, h] = [view.w / scale, view.h / scale];
    const m = MARGIN / scale;
    if (horizontal) return {x: w / 2 - m, y: content.h * scale <= view.h ? content.h / 2 : start, scale};
    return {x: content.w * scale <= view.w ? content.w / 2 : start, y: h / 2 - m, scale};
}

/**
 * Moves the camera as little as needed to have a box in the view.
 * @param {Camera} c
 * @param {Size} view
 * @param {Box} box
 * @returns {Camera}
 */
export function reveal(c, view, box) {
    const part = seen(c, view);
    const m = (2 * MARGIN) / c.scale;
    /** @param {number} p @param {number} size @param {number} b @param {number} bsize */
    const along = (p, size, b, bsize) => (bsize + 2 * m > size ? b + bsize / 2 - size / 2 : Math.min(Math.max(p, b + bsize + m - size), b - m));
    return {x: along(part.x, part.w, box.x, box.w) + part.w / 2, y: along(part.y, part.h, box.y, box.h) + part.h / 2, scale: c.scale};
}
