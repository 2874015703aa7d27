// SPDX-License-Identifier: Apache-2.0
// A picture of many cards, drawn in slices of a few milliseconds. Until a new one is ready the last one is shown, moved and scaled, so that moving stays
// smooth whatever is seen.

import {drawSteps} from './canvas.js';

/** @typedef {import('./arrange.js').Scene} Scene */
/** @typedef {import('./canvas.js').Index} Index */
/** @typedef {import('./look.js').Look} Look */
/** @typedef {import('./camera.js').Camera} Camera */
/** @typedef {import('./camera.js').Size} Size */

/** @typedef {{canvas: HTMLCanvasElement, camera: Camera, size: Size, scene: Scene | null, look: Look | null, ratio: number}} Picture */

const DRAW_SLICE_MS = 9;
const AROUND = 1.3; // of the view, so that panning shows no empty border at once

/** @returns {Picture} */
function emptyPicture() {
    return {canvas: document.createElement('canvas'), camera: {x: 0, y: 0, scale: 0}, size: {w: 0, h: 0}, scene: null, look: null, ratio: 1};
}

export class Snapshot {
    constructor() {
        this.front = emptyPicture();
        this.back = emptyPicture();
        /** @type {Generator<void, void, void> | null} */
        this.work = null;
    }

    /**
     * Shows the scene as well as it is known, and goes on drawing it.
     * @param {CanvasRenderingContext2D} ctx  in CSS pixels
     * @param {Scene} scene
     * @param {Index} index
     * @param {Look} look
     * @param {Camera} camera
     * @param {Size} view
     * @returns {boolean} true if there is more to draw
     */
    draw(ctx, scene, index, look, camera, view) {
        if (this.work && (this.back.scene !== scene || this.back.look !== look)) this.work = null;
        if (!this.work && !this.isCurrent(this.front, scene, look, camera)) this.begin(scene, index, look, camera, view);
        this.goOn();
        const picture = this.front.scene === scene ? this.front : this.back;
        const part = camera.scale / picture.camera.scale;
        const [w, h] = [picture.size.w * part, picture.size.h * part];
        const x = (picture.camera.x - camera.x) * camera.scale + view.w / 2 - w / 2;
        const y = (picture.camera.y - camera.y) * camera.scale + view.h / 2 - h / 2;
        ctx.drawImage(picture.canvas, x, y, w, h);
        return this.work !== null || !this.isCurrent(this.front, scene, look, camera);
    }

    /** @param {Picture} p @param {Scene} scene @param {Look} look @param {Camera} camera */
    isCurrent(p, scene, look, camera) {
        return p.scene === scene && p.look === look && p.camera.x === camera.x && p.camera.y === camera.y && p.camera.scale === camera.scale;
    }

    /** @param {Scene} scene @param {Index} index @param {Look} look @param {Camera} camera @param {Size} view */
    begin(scene, index, look, camera, view) {
        const {back} = this;
        const ratio = window.devicePixelRatio || 1;
        Object.assign(back, {scene, look, camera, ratio, size: {w: Math.round(view.w * AROUND), h: Math.round(view.h * AROUND)}});
        const [w, h] = [Math.round(back.size.w * ratio), Math.round(back.size.h * ratio)];
        if (back.canvas.width !== w || back.canvas.height !== h) {
            back.canvas.width = w;
            back.canvas.height = h;
        }
        const ctx = back.canvas.getContext('2d', {alpha: false});
        if (!ctx) return;
        ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
        ctx.fillStyle = look.theme.page;
        ctx.fillRect(0, 0, back.size.w, back.size.h);
        this.work = drawSteps(ctx, scene, index, {...look, hover: -1, hoverTensor: -1}, camera, back.size);
    }

    goOn() {
        const start = performance.now();
        while (this.work && performance.now() - start < DRAW_SLICE_MS) {
            if (!this.work.next().done) continue;
            this.work = null;
            [this.front, this.back] = [this.back, this.front];
        }
    }
}
