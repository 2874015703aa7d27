// SPDX-License-Identifier: Apache-2.0
// Draws a scene to a 2D context: only what is seen, as full cards, boxes with the operator, or blocks, depending on the scale.

import {BOXES, FULL, blockColour, drawBox, drawCard} from './cards.js';
import {drawFrame} from './frames.js';
import {Grid, overlap} from './grid.js';
import {drawEdges, drawLabels} from './edges.js';
import {finish} from './arrange.js';
import {seen} from './camera.js';

/** @typedef {import('./arrange.js').Scene} Scene */
/** @typedef {import('./look.js').Look} Look */
/** @typedef {import('./camera.js').Camera} Camera */
/** @typedef {import('./camera.js').Size} Size */
/** @typedef {import('./grid.js').Box} Box */
/** @typedef {CanvasRenderingContext2D} Context */

/** @typedef {{cards: Grid, edges: Grid, frames: Grid}} Index  of a scene */

const LABELS = 0.6;
const DIM = 0.22;
const SLICE_CARDS = 1024;

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
        if (i % SLICE_CARDS === 0) yield;
    }
    scene.frames.forEach((f, i) => frames.add(i, f.x, f.y, f.x + f.w, f.y + f.h));
    yield;
    for (let i = 0; i < scene.edges.length; i++) {
        const p = scene.edges[i].points;
        for (let k = 2; k < p.length; k += 2) {
            edges.add(i, Math.min(p[k - 2], p[k]), Math.min(p[k - 1], p[k + 1]), Math.max(p[k - 2], p[k]), Math.max(p[k - 1], p[k + 1]));
        }
        if (i % SLICE_CARDS === 0) yield;
    }
    return {cards, edges, frames};
}

/**
 * Draws what is seen, in steps.
 * @param {Context} ctx
 * @param {Scene} scene
 * @param {Index} index
 * @param {Look} look
 * @param {Camera} camera
 * @param {Size} view
 * @returns {Generator<void, void, void>}
 */
export function* drawSteps(ctx, scene, index, look, camera, view) {
    const part = seen(camera, view);
    const scale = camera.scale;
    ctx.save();
    ctx.translate(view.w / 2, view.h / 2);
    ctx.scale(scale, scale);
    ctx.translate(-camera.x, -camera.y);
    for (const i of index.frames.find(part)) {
        const frame = scene.frames[i];
        if (!overlap(frame, part)) continue;
        drawFrame(ctx, look, frame, scale, isSelectedFrame(look, frame.container));
        yield;
    }
    const edges = index.edges.find(part);
    yield;
    yield* drawEdges(ctx, scene, edges, look, scale);
    if (scale >= LABELS && look.edgeAlpha === 1) drawLabels(ctx, scene, edges, look, part);
    const cards = index.cards.find(part);
    yield;
    if (scale < BOXES) yield* drawBlocks(ctx, scene, cards, look, scale);
    else yield* drawCards(ctx, scene, cards, part, look, scale);
    ctx.restore();
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
    finish(drawSteps(ctx, scene, index, look, camera, view));
}

/** @param {Look} look @param {number} container */
function isSelectedFrame(look, container) {
    const {selected, other} = look.state;
    for (const item of [selected, other]) if (item && item.kind === 'container' && item.id === container && item.graph === look.g.index) return true;
    return false;
}

/**
 * @param {Context} ctx
 * @param {Scene} scene
 * @param {number[]} cards
 * @param {Box} part
 * @param {Look} look
 * @param {number} scale
 * @returns {Generator<void, void, void>}
 */
function* drawCards(ctx, scene, cards, part, look, scale) {
    let drawn = 0;
    const reach = {x: part.x - 16, y: part.y - 16, w: part.w + 32, h: part.h + 32};
    for (const i of cards) {
        const card = scene.cards[i];
        if (!overlap(card, reach)) continue;
        ctx.globalAlpha = look.path && !look.path.has(i) ? DIM : 1;
        if (scale >= FULL) drawCard(ctx, look, card, i);
        else drawBox(ctx, look, card, i, scale);
        if (++drawn % 32 === 0) yield;
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
 * @returns {Generator<void, void, void>}
 */
function* drawBlocks(ctx, scene, cards, look, scale) {
    /** @type {Map<string, number[]>} */
    const byColour = new Map();
    let drawn = 0;
    for (const i of cards) {
        if (++drawn % SLICE_CARDS === 0) yield;
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
            if (++drawn % SLICE_CARDS === 0) {
                yield;
                ctx.fillStyle = colour;
            }
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
