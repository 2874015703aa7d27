// SPDX-License-Identifier: Apache-2.0
// Draws the frames of open containers: a header with buttons, and for a repetition the stepper and a cell for each instance.

import {CONTAINER, STATE, childrenOf} from './data.js';
import {HEADER} from './plan.js';
import {colourOf, textOn} from './colour.js';
import {instanceOf, stateOf} from './fold.js';
import {texts} from './theme.js';
import {roundBox} from './marks.js';
import {cardText, marksOfItem, valueOf, valueText} from './look.js';
import {BUTTON, SERIOUS_MARKS, VALUE, drawButtonBox, drawPlus} from './cards.js';

/** @typedef {import('./arrange.js').Frame} Frame */
/** @typedef {import('./look.js').Look} Look */
/** @typedef {import('./grid.js').Box} Box */
/** @typedef {CanvasRenderingContext2D} Context */

/** @typedef {{fold: Box, back: Box | null, next: Box | null, cells: Box | null, open: Box | null}} FrameButtons */

/**
 * Where the header of a frame has its buttons.
 * @param {Look} look
 * @param {Frame} frame
 * @returns {FrameButtons}
 */
export function frameButtons(look, frame) {
    const {g} = look;
    const c = frame.container;
    const y = frame.y + 4;
    const fold = {x: frame.x + 5, y, w: BUTTON, h: BUTTON};
    const kind = g.container.kind[c];
    if (kind === CONTAINER.repeat) {
        const isOne = stateOf(g, look.state, c) === STATE.one;
        const right = frame.x + frame.w - 5;
        if (!isOne) return {fold, back: null, next: null, cells: null, open: {x: right - BUTTON, y, w: BUTTON, h: BUTTON}};
        const cells = {x: frame.x + 8, y: frame.y + HEADER + 3, w: frame.w - 16, h: 6};
        return {
            fold,
            back: {x: frame.x + 24, y, w: BUTTON, h: BUTTON},
            next: {x: frame.x + 24 + BUTTON + 50, y, w: BUTTON, h: BUTTON},
            cells,
            open: {x: right - BUTTON, y, w: BUTTON, h: BUTTON},
        };
    }
    return {fold: kind === CONTAINER.instance ? {...fold, w: 0} : fold, back: null, next: null, cells: null, open: null};
}

/** @param {Context} ctx @param {Look} look @param {Frame} frame @param {number} scale @param {boolean} isSelected */
export function drawFrame(ctx, look, frame, scale, isSelected) {
    const {g, theme} = look;
    const isFused = g.container.kind[frame.container] === CONTAINER.fused;
    const value = valueOf(look, {kind: 'container', id: frame.container});
    const fill = isFused && look.scale ? colourOf(look.scale, value).fill : null;
    ctx.beginPath();
    roundBox(ctx, frame.x, frame.y, frame.w, frame.h, 6, 6);
    ctx.fillStyle = theme.frame;
    ctx.fill();
    ctx.lineWidth = isSelected ? 3 : isFused ? 2 : 1;
    ctx.strokeStyle = isSelected ? theme.accent : fill || theme.border;
    if (isFused && !isSelected) ctx.setLineDash([6, 3]);
    ctx.stroke();
    ctx.setLineDash([]);
    if (scale < 0.12) return;
    ctx.beginPath();
    roundBox(ctx, frame.x + 0.5, frame.y + 0.5, frame.w - 1, 21.5, 5.5, 0);
    ctx.fillStyle = fill || theme.header;
    ctx.fill();
    if (scale >= 0.3) drawHeader(ctx, look, frame, fill ? textOn(fill) : theme.text);
}

/** @param {Context} ctx @param {Look} look @param {Frame} frame @param {string} ink */
function drawHeader(ctx, look, frame, ink) {
    const buttons = frameButtons(look, frame);
    const text = cardText(look.g, {kind: 'container', id: frame.container});
    let x = frame.x + 8;
    if (buttons.fold.w) {
        drawButtonBox(ctx, buttons.fold, ink);
        drawPlus(ctx, buttons.fold, ink, false);
        x = frame.x + 25;
    }
    ctx.textBaseline = 'alphabetic';
    ctx.textAlign = 'left';
    if (buttons.back && buttons.next) {
        drawStepper(ctx, look, frame, buttons, ink);
        x = buttons.next.x + BUTTON + 7;
    }
    const value = valueText(look, {kind: 'container', id: frame.container});
    let right = buttons.open ? buttons.open.x - 6 : frame.x + frame.w - 8;
    if (value && right - x > 80) {
        ctx.font = VALUE;
        ctx.fillStyle = ink;
        ctx.textAlign = 'right';
        ctx.fillText(value, right, frame.y + 15);
        ctx.textAlign = 'left';
        right -= texts.width(VALUE, value) + 8;
    }
    ctx.font = VALUE;
    ctx.fillStyle = ink;
    const title = text.badge ? text.title + ' ' + text.badge : text.isMany || !text.name ? text.title : text.title + '  ' + text.name;
    ctx.fillText(texts.fit(VALUE, title, right - x), x, frame.y + 15);
    if (buttons.open) {
        drawButtonBox(ctx, buttons.open, ink);
        ctx.beginPath();
        for (const k of buttons.back ? [3.5, 7, 10.5] : [7]) ctx.rect(buttons.open.x + k - 0.7, buttons.open.y + 4, 1.4, BUTTON - 8);
        ctx.fillStyle = ink;
        ctx.fill();
    }
}

/** @param {Context} ctx @param {Look} look @param {Frame} frame @param {FrameButtons} buttons @param {string} ink */
function drawStepper(ctx, look, frame, buttons, ink) {
    const {g} = look;
    const {back, next, cells} = buttons;
    if (!back || !next) return;
    const instances = childrenOf(g).containers[frame.container];
    const at = instanceOf(g, look.state, frame.container);
    for (const [box, side] of /** @type {[Box, number][]} */ ([[back, -1], [next, 1]])) {
        drawButtonBox(ctx, box, ink);
        const x = box.x + box.w / 2 + side * 2;
        ctx.beginPath();
        ctx.moveTo(x - side * 4, box.y + 3.5);
        ctx.lineTo(x, box.y + box.h / 2);
        ctx.lineTo(x - side * 4, box.y + box.h - 3.5);
        ctx.stroke();
    }
    ctx.font = VALUE;
    ctx.fillStyle = ink;
    ctx.textAlign = 'center';
    ctx.fillText(at + 1 + ' / ' + instances.length, (back.x + BUTTON + next.x) / 2, frame.y + 15);
    ctx.textAlign = 'left';
    if (cells) drawCells(ctx, look, instances, at, cells);
}

/**
 * One cell for each instance, in the colour of its value.
 * @param {Context} ctx
 * @param {Look} look
 * @param {number[]} instances
 * @param {number} at
 * @param {Box} box
 */
function drawCells(ctx, look, instances, at, box) {
    const step = box.w / instances.length;
    const values = instances.map((c) => valueOf(look, {kind: 'container', id: c}));
    const scale = cellScale(look, values);
    instances.forEach((c, k) => {
        const colour = scale ? colourOf(scale, values[k]) : {fill: null};
        const fails = (marksOfItem(look, {kind: 'container', id: c}) & SERIOUS_MARKS) !== 0;
        ctx.fillStyle = colour.fill || look.theme.hatch;
        const width = Math.max(step - 1, step * 0.8);
        ctx.fillRect(box.x + k * step, box.y, width, box.h);
        if (fails) {
            ctx.fillStyle = look.theme.contradiction;
            ctx.fillRect(box.x + k * step, box.y + box.h + 1, width, 2);
        }
        if (k !== at) return;
        ctx.beginPath();
        ctx.rect(box.x + k * step - 1, box.y - 1, width + 2, box.h + 2);
        ctx.lineWidth = 1.5;
        ctx.strokeStyle = look.theme.accent;
        ctx.stroke();
    });
}

/**
 * Sums of instances lie above the range of single nodes, so cells of sums have a range of their own.
 * @param {Look} look
 * @param {(number | null)[]} values
 * @returns {import('./colour.js').Scale | null}
 */
function cellScale(look, values) {
    if (!look.scale || !look.quantity || look.quantity.fold !== 'sum') return look.scale;
    const finite = /** @type {number[]} */ (values.filter((v) => v !== null && Number.isFinite(v) && v > 0));
    return {...look.scale, low: Math.min(...finite), high: Math.max(...finite)};
}
