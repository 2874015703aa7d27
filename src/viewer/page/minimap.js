// SPDX-License-Identifier: Apache-2.0
// The minimap: the whole graph as blocks, the worst places as dots, and the part that is seen. Pressing it moves there.

import {bitsOf} from './fold.js';
import {blockColour} from './cards.js';
import {marksOfItem, valueOf} from './look.js';
import {seen} from './camera.js';
import {worstOrder} from './walk.js';

/** @typedef {import('./pane.js').Pane} Pane */
/** @typedef {import('./camera.js').Camera} Camera */

const WIDTH = 168;
const HEIGHT = 150;
const LEAST = 36;
const DOTS = 12;
const INSET = 6;
const BLOCKS_MOST = 20000;
const SERIOUS = bitsOf(['first', 'nan', 'inf', 'fail', 'removed', 'added', 'changed']);

export class Minimap {
    /** @param {HTMLCanvasElement} canvas @param {Pane} pane @param {(camera: Camera) => void} move */
    constructor(canvas, pane, move) {
        this.canvas = canvas;
        this.pane = pane;
        this.move = move;
        this.image = document.createElement('canvas');
        this.scale = 1;
        this.size = {w: 0, h: 0};
        /** @type {import('./look.js').Look | null} */
        this.drawn = null;
        canvas.addEventListener('pointerdown', (e) => {
            canvas.setPointerCapture(e.pointerId);
            this.go(e);
        });
        canvas.addEventListener('pointermove', (e) => e.buttons & 1 && this.go(e));
    }

    /** @param {PointerEvent} e */
    go(e) {
        const box = this.canvas.getBoundingClientRect();
        const {camera} = this.pane;
        this.move({x: (e.clientX - box.left - INSET) / this.scale, y: (e.clientY - box.top - INSET) / this.scale, scale: camera.scale});
    }

    /** Draws the blocks again: the scene or its colours have changed. */
    update() {
        const {scene, look} = this.pane;
        if (!scene || !look) return;
        this.drawn = look;
        this.scale = Math.min((WIDTH - 2 * INSET) / Math.max(scene.w, 1), (HEIGHT - 2 * INSET) / Math.max(scene.h, 1), 0.2);
        this.size = {w: Math.max(scene.w * this.scale + 2 * INSET, LEAST), h: Math.max(scene.h * this.scale + 2 * INSET, LEAST)};
        const ratio = window.devicePixelRatio || 1;
        for (const canvas of [this.image, this.canvas]) {
            canvas.width = Math.round(this.size.w * ratio);
            canvas.height = Math.round(this.size.h * ratio);
        }
        this.canvas.style.width = this.size.w + 'px';
        this.canvas.style.height = this.size.h + 'px';
        const ctx = this.image.getContext('2d');
        if (!ctx) return;
        ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
        ctx.fillStyle = look.theme.page;
        ctx.fillRect(0, 0, this.size.w, this.size.h);
        ctx.translate(INSET, INSET);
        const step = Math.ceil(scene.cards.length / BLOCKS_MOST);
        for (let i = 0; i < scene.cards.length; i += step) {
            const c = scene.cards[i];
            ctx.fillStyle = blockColour(look, c);
            ctx.fillRect(c.x * this.scale, c.y * this.scale, Math.max(c.w * this.scale, 1), Math.max(c.h * this.scale, 1));
        }
        this.drawDots(ctx);
    }

    /** @param {CanvasRenderingContext2D} ctx */
    drawDots(ctx) {
        const {scene, look} = this.pane;
        if (!scene || !look) return;
        const cards = scene.cards;
        /** @type {number[]} */
        let dots = [];
        cards.forEach((c, i) => marksOfItem(look, c.item) & SERIOUS && dots.push(i));
        if (dots.length > DOTS) dots = dots.filter((i) => marksOfItem(look, cards[i].item) & bitsOf(['first', 'nan']) || look.quantity === null).slice(0, DOTS);
        if (look.quantity && look.quantity.scale !== 'category' && look.quantity.better !== 'none') {
            dots.push(...worstOrder(cards.map((c) => valueOf(look, c.item)), look.quantity.better).slice(0, DOTS - Math.min(dots.length, DOTS)));
        }
        for (const i of dots) {
            const c = cards[i];
            ctx.beginPath();
            ctx.arc((c.x + c.w / 2) * this.scale, (c.y + c.h / 2) * this.scale, 2.6, 0, Math.PI * 2);
            ctx.fillStyle = look.theme.contradiction;
            ctx.fill();
            ctx.lineWidth = 1;
            ctx.strokeStyle = look.theme.page;
            ctx.stroke();
        }
    }

    draw() {
        const {scene, look, camera, view} = this.pane;
        if (!scene || !look) return;
        if (this.drawn && (this.drawn.values !== look.values || this.drawn.scale !== look.scale || this.drawn.theme !== look.theme)) this.update();
        const part = seen(camera, view);
        const isWhole = part.x <= 0 && part.y <= 0 && part.x + part.w >= scene.w && part.y + part.h >= scene.h;
        this.canvas.hidden = isWhole;
        const ctx = this.canvas.getContext('2d');
        if (isWhole || !ctx) return;
        const ratio = window.devicePixelRatio || 1;
        ctx.setTransform(1, 0, 0, 1, 0, 0);
        ctx.drawImage(this.image, 0, 0);
        ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
        const clamp = (/** @type {number} */ v, /** @type {number} */ most) => Math.min(Math.max(v, 0.75), most - 0.75);
        const x0 = clamp(part.x * this.scale + INSET, this.size.w);
        const y0 = clamp(part.y * this.scale + INSET, this.size.h);
        const x1 = clamp((part.x + part.w) * this.scale + INSET, this.size.w);
        const y1 = clamp((part.y + part.h) * this.scale + INSET, this.size.h);
        ctx.lineWidth = 1.5;
        ctx.strokeStyle = look.theme.accent;
        ctx.strokeRect(x0, y0, Math.max(x1 - x0, 2), Math.max(y1 - y0, 2));
    }
}
