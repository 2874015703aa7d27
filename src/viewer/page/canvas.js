// SPDX-License-Identifier: Apache-2.0
// Draws a scene to a 2D context: only what is seen, as full cards, boxes with the operator, or blocks, depending on the scale.

import {blockColour, drawBox, drawCard, drawFrame} from './cards.js';
import {edgeLabel} from './look.js';
import {FONT, texts} from './theme.js';
import {Grid} from './grid.js';
import {seen} from './camera.js';

/** @typedef {import('./arrange.js').Scene} Scene */
/** @typedef {import('./arrange.js').Edge} Edge */
/** @typedef {import('./look.js').Look} Look */
/** @typedef {import('./camera.js').Camera} Camera */
/** @typedef {import('./camera.js').Size} Size */
/** @typedef {import('./grid.js').Box} Box */
/** @typedef {CanvasRenderingContext2D} Context */

/** @typedef {{cards: Grid, edges: Grid, frames: Grid}} Index  of a scene */

export const FULL = 0.45;
export const BOXES = 0.17;
const LABELS = 0.6;
const LABEL = '10px ' + FONT;
const DIM = 0.22;
const EDGES_MOST = 6000;
const SLICE_EDGES = 1024;

/** @param {Scene} scene @returns {Generator<void, Index, void>} */
export function* indexScene(scene) {
    const cards = new Grid(scene.w, scene.h, scene.cards.length);
    const frames = new Grid(scene.w, scene.h, scene.frames.length);
    let points = 0;
    for (const e of scene.edges) points += e.points.length / 2;
    const edges = new Grid(scene.w, scene.h, points);
    for (let i = 0; i < scene.cards.length; i++) {
        const c = scene.cards[i];
        cards.add(i, c.x - 6, c.y - 12, c.x + c.w + 8, c.y + c.h + 8);
        if (i % SLICE_EDGES === 0) yield;
    }
    scene.frames.forEach((f, i) => frames.add(i, f.x, f.y, f.x + f.w, f.y + f.h));
    yield;
    for (let i = 0; i < scene.edges.length; i++) {
        const p = scene.edges[i].points;
        for (let k = 2; k < p.length; k += 2) {
            edges.add(i, Math.min(p[k - 2], p[k]), Math.min(p[k - 1], p[k + 1]), Math.max(p[k - 2], p[k]), Math.max(p[k - 1], p[k + 1]));
        }
        if (i % SLICE_EDGES === 0) yield;
    }
    return {cards, edges, frames};
}

/**
 * Draws what is seen.
 * @param {Context} ctx
 * @param {Scene} scene
 * @param {Index} index
 * @param {Look} look
 * @param {Camera} camera
 * @param {Size} view
 */
export function drawScene(ctx, scene, index, look, camera, view) {
    const part = seen(camera, view);
    const scale = camera.scale;
    ctx.save();
    ctx.translate(view.w / 2, view.h / 2);
    ctx.scale(scale, scale);
    ctx.translate(-camera.x, -camera.y);
    for (const i of index.frames.find(part)) {
        const frame = scene.frames[i];
        if (touches(frame, part)) drawFrame(ctx, look, frame, scale, isSelectedFrame(look, frame.container));
    }
    const edges = index.edges.find(part);
    drawEdges(ctx, scene, edges, look, scale);
    const cards = index.cards.find(part);
    if (scale < BOXES) drawBlocks(ctx, scene, cards, look, scale);
    else drawCards(ctx, scene, cards, part, look, scale);
    if (scale >= LABELS && look.edgeAlpha === 1) drawLabels(ctx, scene, edges, look, part);
    ctx.restore();
}

/** @param {Look} look @param {number} container */
function isSelectedFrame(look, container) {
    const {selected, other} = look.state;
    for (const item of [selected, other]) if (item && item.kind === 'container' && item.id === container && item.graph === look.g.index) return true;
    return false;
}

/** @param {Box} a @param {Box} b */
function touches(a, b) {
    return a.x <= b.x + b.w && a.x + a.w >= b.x && a.y <= b.y + b.h && a.y + a.h >= b.y;
}

/** @param {Context} ctx @param {Scene} scene @param {number[]} cards @param {Box} part @param {Look} look @param {number} scale */
function drawCards(ctx, scene, cards, part, look, scale) {
    const reach = {x: part.x - 16, y: part.y - 16, w: part.w + 32, h: part.h + 32};
    for (const i of cards) {
        const card = scene.cards[i];
        if (!touches(card, reach)) continue;
        ctx.globalAlpha = look.path && !look.path.has(i) ? DIM : 1;
        if (scale >= FULL) drawCard(ctx, look, card, i);
        else drawBox(ctx, look, card, i, scale);
    }
    ctx.globalAlpha = 1;
}

/**
 * Blocks by colour, at least one pixel high, so that nothing vanishes.
 * @param {Context} ctx
 * @param {Scene} scene
 * @param {number[]} cards
 * @param {Look} look
 * @param {number} scale
 */
function drawBlocks(ctx, scene, cards, look, scale) {
    /** @type {Map<string, number[]>} */
    const byColour = new Map();
    for (const i of cards) {
        const colour = look.path && !look.path.has(i) ? look.theme.header : blockColour(look, scene.cards[i]);
        const list = byColour.get(colour);
        if (list) list.push(i);
        else byColour.set(colour, [i]);
    }
    const least = 1 / scale;
    for (const [colour, list] of byColour) {
        ctx.fillStyle = colour;
        for (const i of list) {
            const c = scene.cards[i];
            ctx.fillRect(c.x, c.y, Math.max(c.w, least), Math.max(c.h, least));
        }
    }
    drawSpots(ctx, scene, look, scale);
}

/**
 * What is selected or found stays visible at any scale.
 * @param {Context} ctx
 * @param {Scene} scene
 * @param {Look} look
 * @param {number} scale
 */
function drawSpots(ctx, scene, look, scale) {
    for (const [set, colour] of /** @type {[Set<number>, string][]} */ ([[look.hits, look.theme.hit], [look.selected, look.theme.accent]])) {
        ctx.strokeStyle = colour;
        ctx.lineWidth = 2 / scale;
        ctx.beginPath();
        for (const i of set) {
            const c = scene.cards[i];
            const more = 3 / scale;
            if (c) ctx.rect(c.x - more, c.y - more, c.w + 2 * more, c.h + 2 * more);
        }
        ctx.stroke();
    }
}

// ---- Edges ------------------------------------------------------------------------------------------------------------------------------

/** @param {Context} ctx @param {Edge} edge @param {boolean} horizontal @param {boolean} smooth */
function traceEdge(ctx, edge, horizontal, smooth) {
    const p = edge.points;
    ctx.moveTo(p[0], p[1]);
    for (let k = 2; k < p.length; k += 2) {
        const [x0, y0, x1, y1] = [p[k - 2], p[k - 1], p[k], p[k + 1]];
        if (!smooth || (horizontal ? y0 === y1 : x0 === x1)) {
            ctx.lineTo(x1, y1);
        } else if (horizontal) {
            const pull = Math.max(Math.abs(x1 - x0) / 2, 12);
            ctx.bezierCurveTo(x0 + pull, y0, x1 - pull, y1, x1, y1);
        } else {
            const pull = Math.max(Math.abs(y1 - y0) / 2, 12);
            ctx.bezierCurveTo(x0, y0 + pull, x1, y1 - pull, x1, y1);
        }
    }
}

/** @param {Context} ctx @param {Edge} edge @param {boolean} horizontal @param {number} size */
function traceArrow(ctx, edge, horizontal, size) {
    const p = edge.points;
    const [x, y] = [p[p.length - 2], p[p.length - 1]];
    ctx.moveTo(x, y);
    if (horizontal) {
        ctx.lineTo(x - size * 1.5, y - size * 0.75);
        ctx.lineTo(x - size * 1.5, y + size * 0.75);
    } else {
        ctx.lineTo(x - size * 0.75, y - size * 1.5);
        ctx.lineTo(x + size * 0.75, y - size * 1.5);
    }
    ctx.closePath();
}

/**
 * How wide an edge is drawn: by bytes if asked for.
 * @param {Look} look
 * @param {number} tensor
 */
function widthOf(look, tensor) {
    if (!look.state.widths) return 1.2;
    const bytes = look.g.tensor.bytes[tensor];
    return bytes > 0 ? Math.min(Math.max(Math.log2(bytes / 1024) * 0.6, 0.6), 12) : 0.6;
}

/** @param {Context} ctx @param {Scene} scene @param {number[]} edges @param {Look} look @param {number} scale */
function drawEdges(ctx, scene, edges, look, scale) {
    /** @type {Map<string, number[]>} edges that are drawn alike */
    const groups = new Map();
    const isFar = scale < BOXES;
    const step = isFar && edges.length > EDGES_MOST ? Math.ceil(edges.length / EDGES_MOST) : 1;
    for (let k = 0; k < edges.length; k += step) {
        const edge = scene.edges[edges[k]];
        const isStrong = look.tensors.has(edge.tensor) || look.hoverTensor === edge.tensor;
        const key = (isStrong ? 's' : look.path ? 'd' : 'n') + (edge.tunnel ? 't' : '-') + widthOf(look, edge.tensor).toFixed(1);
        const group = groups.get(key);
        if (group) group.push(edges[k]);
        else groups.set(key, [edges[k]]);
    }
    for (const [key, list] of [...groups].sort()) drawGroup(ctx, scene, list, look, key, scale);
}

/** @param {Context} ctx @param {Scene} scene @param {number[]} list @param {Look} look @param {string} key @param {number} scale */
function drawGroup(ctx, scene, list, look, key, scale) {
    const isStrong = key[0] === 's';
    const isFar = scale < BOXES;
    const width = Number(key.slice(2)) * (isStrong ? 2 : 1);
    ctx.globalAlpha = (key[0] === 'd' ? DIM : 1) * look.edgeAlpha;
    ctx.strokeStyle = ctx.fillStyle = isStrong ? look.theme.accent : look.theme.edge;
    ctx.lineWidth = Math.max(width, (isStrong ? 1.6 : 0.7) / scale);
    if (key[1] === 't') ctx.setLineDash([5, 4]);
    ctx.beginPath();
    for (const i of list) traceEdge(ctx, scene.edges[i], scene.horizontal, !isFar);
    ctx.stroke();
    ctx.setLineDash([]);
    if (scale >= 0.25) {
        ctx.beginPath();
        for (const i of list) if (scene.edges[i].arrow) traceArrow(ctx, scene.edges[i], scene.horizontal, 5 + width * 0.8);
        ctx.fill();
    }
    ctx.globalAlpha = 1;
}

/**
 * Shapes or names beside the edges; one that would cover another is left out.
 * @param {Context} ctx
 * @param {Scene} scene
 * @param {number[]} edges
 * @param {Look} look
 * @param {Box} part
 */
function drawLabels(ctx, scene, edges, look, part) {
    /** @type {Box[]} */
    const taken = [];
    ctx.textBaseline = 'middle';
    for (const i of edges) {
        const edge = scene.edges[i];
        if (!edge.label) continue;
        const label = edgeLabel(look.g, edge.tensor, look.state.names);
        if (!label.text) continue;
        const font = label.source === 'run' ? 'italic ' + LABEL : label.source === 'contradiction' ? '700 ' + LABEL : LABEL;
        const text = texts.fit(font, (label.source === 'contradiction' ? '⚠ ' : '') + label.text, 110);
        const width = texts.width(font, text);
        const [x, y] = labelPlace(edge, scene.horizontal);
        const box = {x, y: y - 6, w: width + 3, h: 12};
        if (!touches(box, part) || taken.some((other) => touches(other, box))) continue;
        taken.push(box);
        ctx.globalAlpha = look.path && !look.tensors.has(edge.tensor) ? DIM : 0.85;
        ctx.fillStyle = look.theme.page;
        ctx.fillRect(box.x, box.y, box.w, box.h);
        ctx.globalAlpha = look.path && !look.tensors.has(edge.tensor) ? DIM : 1;
        ctx.fillStyle = label.source === 'contradiction' ? look.theme.contradiction : look.theme.muted;
        ctx.font = font;
        ctx.textAlign = 'left';
        ctx.fillText(text, x + 1, y + 0.5);
    }
    ctx.globalAlpha = 1;
    ctx.textAlign = 'left';
    ctx.textBaseline = 'alphabetic';
}

/**
 * Beside the edge, where it leaves its source.
 * @param {Edge} edge
 * @param {boolean} horizontal
 * @returns {[number, number]}
 */
function labelPlace(edge, horizontal) {
    const p = edge.points;
    const straight = p[2] === p[0] && p[3] > p[1] && p.length > 4 ? Math.min(p[3] - p[1], 40) : 0; // down through the rest of the row
    return horizontal ? [p[0] + 4, p[1] - 7] : [p[0] + 5, p[1] + straight + 9];
}

// ---- What is under a point --------------------------------------------------------------------------------------------------------------

/** @param {Scene} scene @param {Index} index @param {number} x @param {number} y @returns {number} card, -1: none */
export function cardAt(scene, index, x, y) {
    for (const i of index.cards.find({x, y, w: 0, h: 0}).reverse()) {
        const c = scene.cards[i];
        if (x >= c.x && x <= c.x + c.w && y >= c.y && y <= c.y + c.h) return i;
    }
    return -1;
}

/**
 * The innermost frame.
 * @param {Scene} scene
 * @param {Index} index
 * @param {number} x
 * @param {number} y
 * @returns {number} frame, -1: none
 */
export function frameAt(scene, index, x, y) {
    for (const i of index.frames.find({x, y, w: 0, h: 0}).reverse()) {
        const f = scene.frames[i];
        if (x >= f.x && x <= f.x + f.w && y >= f.y && y <= f.y + f.h) return i;
    }
    return -1;
}

/** @param {Scene} scene @param {Index} index @param {number} x @param {number} y @param {number} reach @returns {number} edge, -1: none */
export function edgeAt(scene, index, x, y, reach) {
    let best = -1;
    let least = reach;
    for (const i of index.edges.find({x: x - reach, y: y - reach, w: 2 * reach, h: 2 * reach})) {
        const distance = distanceTo(scene.edges[i], scene.horizontal, x, y);
        if (distance < least) [best, least] = [i, distance];
    }
    return best;
}

/** @param {Edge} edge @param {boolean} horizontal @param {number} x @param {number} y */
function distanceTo(edge, horizontal, x, y) {
    const p = edge.points;
    let least = Infinity;
    for (let k = 2; k < p.length; k += 2) {
        let [px, py] = [p[k - 2], p[k - 1]];
        for (let n = 1; n <= 8; n++) {
            const t = n / 8;
            const ease = t * t * (3 - 2 * t); // close to the curve that is drawn
            const qx = p[k - 2] + (p[k] - p[k - 2]) * (horizontal ? t : ease);
            const qy = p[k - 1] + (p[k + 1] - p[k - 1]) * (horizontal ? ease : t);
            least = Math.min(least, distanceToLine(x, y, px, py, qx, qy));
            [px, py] = [qx, qy];
        }
    }
    return least;
}

/** @param {number} x @param {number} y @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
function distanceToLine(x, y, x0, y0, x1, y1) {
    const [dx, dy] = [x1 - x0, y1 - y0];
    const length = dx * dx + dy * dy;
    const t = length ? Math.min(Math.max(((x - x0) * dx + (y - y0) * dy) / length, 0), 1) : 0;
    return Math.hypot(x - x0 - t * dx, y - y0 - t * dy);
}
