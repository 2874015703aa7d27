// SPDX-License-Identifier: Apache-2.0
// Draws cards at each level of detail. All sizes are in content units; only these members of a 2D context are used: fillStyle,
// strokeStyle, lineWidth, font, textAlign, textBaseline, globalAlpha, beginPath, closePath, moveTo, lineTo, bezierCurveTo, arc, rect, fill,
// stroke, fillRect, fillText, setLineDash, save, restore, translate, scale, setTransform.

import {CONTAINER} from './data.js';
import {CATEGORY_COLOURS, textOn} from './colour.js';
import {bitsOf, markNames} from './fold.js';
import {FONT, texts} from './theme.js';
import {MARK_SIZE, drawMark, roundBox} from './marks.js';
import {CARD_HEIGHT, ROW, cardRows, cardText, colourOfItem, isShared, marksOfItem, valueText} from './look.js';

/** @typedef {import('./arrange.js').Card} Card */
/** @typedef {import('./arrange.js').Frame} Frame */
/** @typedef {import('./look.js').Look} Look */
/** @typedef {CanvasRenderingContext2D} Context */

/** The scales from which cards are drawn in full, and as boxes. */
export const FULL = 0.45;
export const BOXES = 0.17;

const STRIPE = 5;
const RADIUS = 4;
export const BUTTON = 14;
const TITLES = ['600 12.5px ' + FONT, '600 11.5px ' + FONT, '600 10.5px ' + FONT];
const NAME = '10.5px ' + FONT;
export const VALUE = '600 11px ' + FONT;
const ROWS = '10px ' + FONT;

export const SERIOUS_MARKS = bitsOf(['first', 'nan', 'inf', 'fail', 'removed', 'added', 'changed']);

const FUSED_MARK = bitsOf(['fused']);

/** @typedef {import('./grid.js').Box} Box */

/**
 * Where a card has its button, null: it has none.
 * @param {Look} look
 * @param {Card} card
 * @returns {Box | null}
 */
export function cardButton(look, card) {
    if (!cardText(look.g, card.item).canOpen) return null;
    return {x: card.x + card.w - BUTTON - 5, y: card.y + CARD_HEIGHT - BUTTON - 5, w: BUTTON, h: BUTTON};
}

/** @param {Context} ctx @param {Box} box @param {boolean} isRound */
function traceCard(ctx, box, isRound) {
    ctx.beginPath();
    const r = isRound ? Math.min(box.h / 2, 20) : RADIUS;
    roundBox(ctx, box.x, box.y, box.w, box.h, r, r);
}

/**
 * A card with all its texts.
 * @param {Context} ctx
 * @param {Look} look
 * @param {Card} card
 * @param {number} index
 */
export function drawCard(ctx, look, card, index) {
    const text = cardText(look.g, card.item);
    const colour = colourOfItem(look, card.item);
    const {theme} = look;
    if (text.isMany) drawPile(ctx, look, card);
    traceCard(ctx, card, text.isRound);
    ctx.fillStyle = theme.card;
    ctx.fill();
    if (colour.fill) {
        ctx.fillStyle = colour.fill;
        ctx.fill();
    } else if (look.quantity && !isShared(look, card.item)) {
        drawHatch(ctx, look, text.isRound ? {x: card.x + 18, y: card.y, w: card.w - 36, h: card.h} : card, 7);
    }
    drawStripe(ctx, card, text.category, text.isRound);
    traceCard(ctx, card, text.isRound);
    ctx.lineWidth = 1;
    ctx.strokeStyle = theme.border;
    ctx.stroke();
    drawTexts(ctx, look, card, colour.fill ? colour.text : theme.text, colour.fill === null);
    drawButton(ctx, look, card, colour.fill ? colour.text : theme.muted);
    drawOutline(ctx, look, card, index, text.isRound);
    drawMarks(ctx, look, card);
}

/**
 * The edges of cards below, for what is folded.
 * @param {Context} ctx
 * @param {Look} look
 * @param {Card} card
 */
function drawPile(ctx, look, card) {
    for (const step of [5, 2.5]) {
        ctx.beginPath();
        roundBox(ctx, card.x + step, card.y + step, card.w, card.h, RADIUS, RADIUS);
        ctx.fillStyle = look.theme.card;
        ctx.fill();
        ctx.lineWidth = 1;
        ctx.strokeStyle = look.theme.border;
        ctx.stroke();
    }
}

/** @param {Context} ctx @param {Box} card @param {string} category @param {boolean} isRound */
function drawStripe(ctx, card, category, isRound) {
    ctx.fillStyle = CATEGORY_COLOURS.get(category) || '#5f6b7a';
    ctx.beginPath();
    if (isRound) {
        const r = Math.min(card.h / 2, 20);
        ctx.moveTo(card.x + r, card.y);
        ctx.arc(card.x + r, card.y + r, r, -Math.PI / 2, Math.PI / 2, true);
        ctx.lineTo(card.x + r + 2, card.y + card.h);
        ctx.arc(card.x + r + STRIPE, card.y + r, r, Math.PI / 2, -Math.PI / 2, false);
    } else {
        ctx.rect(card.x + 0.5, card.y + 1, STRIPE - 0.5, card.h - 2);
    }
    ctx.closePath();
    ctx.fill();
}

/**
 * Diagonal lines: not measured.
 * @param {Context} ctx
 * @param {Look} look
 * @param {Box} box
 * @param {number} step
 */
function drawHatch(ctx, look, box, step) {
    ctx.beginPath();
    for (let k = step; k < box.w + box.h; k += step) {
        const x0 = Math.min(k, box.w);
        const y0 = k - x0;
        const y1 = Math.min(k, box.h);
        ctx.moveTo(box.x + x0, box.y + y0);
        ctx.lineTo(box.x + k - y1, box.y + y1);
    }
    ctx.lineWidth = 1;
    ctx.strokeStyle = look.theme.hatch;
    ctx.stroke();
}

/** @param {Context} ctx @param {Look} look @param {Card} card @param {string} ink @param {boolean} isPlain */
function drawTexts(ctx, look, card, ink, isPlain) {
    const text = cardText(look.g, card.item);
    const left = card.x + (text.isRound ? 16 : STRIPE + 7);
    const right = card.x + card.w - (text.isRound ? 11 : 8);
    const value = valueText(look, card.item);
    const [title, name] = look.state.names && text.name && !text.isRound ? [text.name, text.title] : [text.title, text.name];
    const room = right - left;
    const badge = text.badge ? texts.width(VALUE, text.badge) + 14 : 0;
    const titleFont = TITLES.find((font) => texts.width(font, title) + badge <= room) || TITLES[0];
    const titleWidth = Math.min(texts.width(titleFont, title), room - badge);
    const valueWidth = value ? Math.min(texts.width(VALUE, value), room) : 0;
    const isBeside = titleWidth + badge + valueWidth + 8 <= room;
    ctx.textBaseline = 'alphabetic';
    ctx.textAlign = 'left';
    if (text.badge) drawBadge(ctx, look, text.badge, left + titleWidth + 6, card.y + 5.5);
    ctx.fillStyle = ink;
    ctx.font = titleFont;
    ctx.fillText(texts.fit(titleFont, title, room - badge), left, card.y + 17);
    let nameRoom = room - (text.canOpen ? BUTTON + 4 : 0);
    if (value) {
        const x = isBeside ? right : right - (text.canOpen ? BUTTON + 4 : 0);
        ctx.font = VALUE;
        ctx.textAlign = 'right';
        ctx.fillText(texts.fit(VALUE, value, valueWidth + 1), x, card.y + (isBeside ? 17 : 32));
        ctx.textAlign = 'left';
        if (!isBeside) nameRoom -= valueWidth + 6;
    }
    ctx.font = NAME;
    if (isPlain) ctx.fillStyle = look.theme.muted;
    if (nameRoom > 20) ctx.fillText(texts.fit(NAME, name, nameRoom), left, card.y + 32);
    if (card.h > CARD_HEIGHT) drawRows(ctx, look, card, left, right, ink);
}

/** @param {Context} ctx @param {Look} look @param {Card} card @param {number} left @param {number} right @param {string} ink */
function drawRows(ctx, look, card, left, right, ink) {
    let y = card.y + CARD_HEIGHT + 9;
    ctx.fillStyle = ink;
    ctx.font = ROWS;
    for (const [name, text] of cardRows(look.g, card.item, look.state)) {
        const room = right - left;
        const width = Math.min(texts.width(ROWS, text), room * 0.7);
        ctx.textAlign = 'right';
        ctx.fillText(texts.fit(ROWS, text, width + 1), right, y);
        ctx.textAlign = 'left';
        ctx.fillText(texts.fit(ROWS, name, room - width - 6), left, y);
        y += ROW;
    }
}

/**
 * A count in a box.
 * @param {Context} ctx
 * @param {Look} look
 * @param {string} badge
 * @param {number} x
 * @param {number} y
 */
function drawBadge(ctx, look, badge, x, y) {
    const width = texts.width(VALUE, badge) + 8;
    ctx.beginPath();
    roundBox(ctx, x, y, width, 15, 7.5, 7.5);
    ctx.fillStyle = look.theme.badge;
    ctx.fill();
    ctx.fillStyle = textOn(look.theme.badge);
    ctx.font = VALUE;
    ctx.fillText(badge, x + 4, y + 11.5);
}

/**
 * Plus: unfolds in place. An arrow: opens a function.
 * @param {Context} ctx
 * @param {Look} look
 * @param {Card} card
 * @param {string} ink
 */
function drawButton(ctx, look, card, ink) {
    const box = cardButton(look, card);
    if (!box) return;
    drawButtonBox(ctx, box, ink);
    if (card.item.kind === 'container') drawPlus(ctx, box, ink, true);
    else {
        ctx.font = 'italic 600 10px ' + FONT;
        ctx.fillStyle = ink;
        ctx.textAlign = 'center';
        ctx.fillText('f', box.x + box.w / 2, box.y + box.h / 2 + 3.5);
        ctx.textAlign = 'left';
    }
}

/** @param {Context} ctx @param {Box} box @param {string} ink */
export function drawButtonBox(ctx, box, ink) {
    ctx.beginPath();
    roundBox(ctx, box.x + 0.5, box.y + 0.5, box.w - 1, box.h - 1, 3, 3);
    ctx.lineWidth = 1;
    ctx.strokeStyle = ink;
    ctx.stroke();
}

/** @param {Context} ctx @param {Box} box @param {string} ink @param {boolean} isPlus */
export function drawPlus(ctx, box, ink, isPlus) {
    const [x, y] = [box.x + box.w / 2, box.y + box.h / 2];
    ctx.beginPath();
    ctx.moveTo(x - 3.5, y);
    ctx.lineTo(x + 3.5, y);
    if (isPlus) {
        ctx.moveTo(x, y - 3.5);
        ctx.lineTo(x, y + 3.5);
    }
    ctx.lineWidth = 1.3;
    ctx.strokeStyle = ink;
    ctx.stroke();
}

/**
 * Rings around what is selected, found, on the path or under the pointer.
 * @param {Context} ctx
 * @param {Look} look
 * @param {Box} card
 * @param {number} index
 * @param {boolean} isRound
 */
export function drawOutline(ctx, look, card, index, isRound) {
    /** @param {number} distance @param {number} width @param {string} colour */
    const ring = (distance, width, colour) => {
        ctx.beginPath();
        const r = isRound ? Math.min(card.h / 2, 20) : RADIUS;
        roundBox(ctx, card.x - distance, card.y - distance, card.w + 2 * distance, card.h + 2 * distance, r + distance, r + distance);
        ctx.lineWidth = width;
        ctx.strokeStyle = colour;
        ctx.stroke();
    };
    if (look.hits.has(index)) ring(3, 3, look.theme.hit);
    if (look.path && look.path.has(index)) ring(0.5, 1.5, look.theme.accent);
    if (look.selected.has(index)) ring(2.5, 3, look.theme.accent);
    else if (look.hover === index) ring(0.5, 1.5, look.theme.accent);
}

/**
 * Marks stand on the upper edge, from the right.
 * @param {Context} ctx
 * @param {Look} look
 * @param {Card} card
 */
function drawMarks(ctx, look, card) {
    const isInFrame = card.item.kind === 'node' && look.g.container.kind[look.g.node.parent[card.item.id]] === CONTAINER.fused;
    const bits = marksOfItem(look, card.item) & (isInFrame ? ~FUSED_MARK : -1); // the frame says so
    const isMarked = card.item.kind === 'node' && look.state.bookmarks.has(card.item.id) && look.state.graph === look.g.index;
    if (!bits && !isMarked) return;
    let x = card.x + card.w - 5;
    const kinds = markNames(bits);
    if (isMarked) kinds.push('bookmark');
    for (const kind of kinds.slice(0, 5)) {
        drawMark(ctx, kind, x, card.y - 3, MARK_SIZE, look.theme.page, FONT);
        x -= MARK_SIZE + 3;
    }
}

// ---- Boxes and blocks -------------------------------------------------------------------------------------------------------------------

/**
 * A coloured box with the operator only.
 * @param {Context} ctx
 * @param {Look} look
 * @param {Card} card
 * @param {number} index
 * @param {number} scale
 */
export function drawBox(ctx, look, card, index, scale) {
    const text = cardText(look.g, card.item);
    const colour = colourOfItem(look, card.item);
    ctx.fillStyle = colour.fill || look.theme.card;
    ctx.fillRect(card.x, card.y, card.w, card.h);
    if (!colour.fill && look.quantity && !isShared(look, card.item)) drawHatch(ctx, look, card, 16);
    ctx.fillStyle = CATEGORY_COLOURS.get(text.category) || '#5f6b7a';
    ctx.fillRect(card.x, card.y, STRIPE + 2, card.h);
    ctx.beginPath();
    ctx.rect(card.x, card.y, card.w, card.h);
    ctx.lineWidth = 0.7 / scale;
    ctx.strokeStyle = look.theme.border;
    ctx.stroke();
    const size = Math.min(10 / scale, CARD_HEIGHT * 0.7);
    if (size * scale >= 6.5) {
        const font = '600 ' + Math.round(size) + 'px ' + FONT;
        ctx.font = font;
        ctx.fillStyle = colour.fill ? colour.text : look.theme.text;
        const badge = text.badge ? ' ' + text.badge : '';
        ctx.fillText(texts.fit(font, text.title + badge, card.w - STRIPE - 10), card.x + STRIPE + 6, card.y + CARD_HEIGHT / 2 + size * 0.36);
    }
    drawOutline(ctx, look, card, index, false);
    const marks = markNames(marksOfItem(look, card.item) & SERIOUS_MARKS);
    if (marks.length) drawMark(ctx, marks[0], card.x + card.w - 8, card.y, Math.min(10 / scale, 34), look.theme.page, FONT);
}

/**
 * The colour of a card that is drawn as a block.
 * @param {Look} look
 * @param {Card} card
 * @returns {string}
 */
export function blockColour(look, card) {
    if (look.quantity) return colourOfItem(look, card.item).fill || look.theme.hatch;
    return CATEGORY_COLOURS.get(cardText(look.g, card.item).category) || '#5f6b7a';
}

/**
 * The rows of a card that `size` must leave room for.
 * @param {import('./data.js').Graph} g
 * @param {import('./fold.js').Shown} item
 * @param {Readonly<import('./store.js').State>} state
 * @returns {{w: number, h: number}}
 */
export function cardSize(g, item, state) {
    const n = item.kind === 'node' ? item.id : g.container.node[item.id];
    const card = item.kind === 'container' ? g.container.layout[item.id]?.card : null;
    const size = card ? {w: card[0], h: card[1]} : n >= 0 ? {w: g.node.w[n], h: g.node.h[n]} : {w: 150, h: CARD_HEIGHT};
    const rows = cardRows(g, item, state).length;
    return rows ? {w: Math.max(size.w, 150), h: size.h + rows * ROW + 4} : size;
}
