// SPDX-License-Identifier: Apache-2.0
// Draws edges and their labels, in steps.

import {BOXES} from './cards.js';
import {edgeLabel} from './look.js';
import {FONT, texts} from './theme.js';
import {overlap} from './grid.js';

/** @typedef {import('./arrange.js').Scene} Scene */
/** @typedef {import('./arrange.js').Edge} Edge */
/** @typedef {import('./look.js').Look} Look */
/** @typedef {import('./grid.js').Box} Box */
/** @typedef {CanvasRenderingContext2D} Context */

const LABEL = '10px ' + FONT;
const EDGE_DIM = 0.22;
const EDGES_MOST = 6000;
const CHUNK = 300;

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

/**
 * @param {Context} ctx
 * @param {Scene} scene
 * @param {number[]} edges
 * @param {Look} look
 * @param {number} scale
 * @returns {Generator<void, void, void>}
 */
export function* drawEdges(ctx, scene, edges, look, scale) {
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
    for (const [key, list] of [...groups].sort()) {
        for (let k = 0; k < list.length; k += CHUNK) {
            drawGroup(ctx, scene, list.slice(k, k + CHUNK), look, key, scale);
            yield;
        }
    }
}

/** @param {Context} ctx @param {Scene} scene @param {number[]} list @param {Look} look @param {string} key @param {number} scale */
function drawGroup(ctx, scene, list, look, key, scale) {
    const isStrong = key[0] === 's';
    const isFar = scale < BOXES;
    const width = Number(key.slice(2)) * (isStrong ? 2 : 1);
    ctx.globalAlpha = (key[0] === 'd' ? EDGE_DIM : 1) * look.edgeAlpha;
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
export function drawLabels(ctx, scene, edges, look, part) {
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
        if (!overlap(box, part) || taken.some((other) => overlap(other, box))) continue;
        taken.push(box);
        ctx.globalAlpha = look.path && !look.tensors.has(edge.tensor) ? EDGE_DIM : 0.75;
        ctx.fillStyle = edge.depth > 0 ? look.theme.frame : look.theme.page;
        ctx.fillRect(box.x, box.y, box.w, box.h);
        ctx.globalAlpha = look.path && !look.tensors.has(edge.tensor) ? EDGE_DIM : 1;
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
