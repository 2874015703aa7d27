// SPDX-License-Identifier: Apache-2.0
// Which boxes touch a rectangle: an index of equal cells, filled in one pass.

/** @typedef {{x: number, y: number, w: number, h: number}} Box */

const CELLS_PER_BOX = 2;

/** @param {Box} a @param {Box} b @returns {boolean} true if they share a point */
export function overlap(a, b) {
    return a.x <= b.x + b.w && a.x + a.w >= b.x && a.y <= b.y + b.h && a.y + a.h >= b.y;
}

export class Grid {
    /** @param {number} w @param {number} h @param {number} count  of boxes that will be put in */
    constructor(w, h, count) {
        this.w = Math.max(w, 1);
        this.h = Math.max(h, 1);
        this.cell = Math.max(Math.sqrt((this.w * this.h) / Math.max(count * CELLS_PER_BOX, 1)), 64);
        this.columns = Math.ceil(this.w / this.cell);
        this.rows = Math.ceil(this.h / this.cell);
        /** @type {Map<number, number[]>} */
        this.cells = new Map();
        /** @type {number[]} */
        this.stamp = [];
        this.time = 0;
    }

    /** @param {number} v @param {number} count */
    index(v, count) {
        return Math.min(Math.max(Math.floor(v / this.cell), 0), count - 1);
    }

    /**
     * Adds a box under a number; one number may have many boxes.
     * @param {number} id
     * @param {number} x0
     * @param {number} y0
     * @param {number} x1
     * @param {number} y1
     */
    add(id, x0, y0, x1, y1) {
        const [c0, c1] = [this.index(x0, this.columns), this.index(x1, this.columns)];
        const [r0, r1] = [this.index(y0, this.rows), this.index(y1, this.rows)];
        for (let r = r0; r <= r1; r++) {
            for (let c = c0; c <= c1; c++) {
                const key = r * this.columns + c;
                const cell = this.cells.get(key);
                if (!cell) this.cells.set(key, [id]);
                else if (cell[cell.length - 1] !== id) cell.push(id);
            }
        }
    }

    /**
     * Calls `f` once for each number that has a box near a rectangle, in no order.
     * @param {Box} box
     * @param {(id: number) => void} f
     */
    visit(box, f) {
        this.time++;
        const [c0, c1] = [this.index(box.x, this.columns), this.index(box.x + box.w, this.columns)];
        const [r0, r1] = [this.index(box.y, this.rows), this.index(box.y + box.h, this.rows)];
        for (let r = r0; r <= r1; r++) {
            for (let c = c0; c <= c1; c++) {
                const cell = this.cells.get(r * this.columns + c);
                if (!cell) continue;
                for (const id of cell) {
                    if (this.stamp[id] === this.time) continue;
                    this.stamp[id] = this.time;
                    f(id);
                }
            }
        }
    }

    /** @param {Box} box @returns {number[]} sorted */
    find(box) {
        /** @type {number[]} */
        const found = [];
        this.visit(box, (id) => found.push(id));
        return found.sort((a, b) => a - b);
    }
}
