// SPDX-License-Identifier: Apache-2.0
// Colours and fonts of the picture, read from the style sheet, so that both schemes are in one place.

/**
 * @typedef {Object} Theme
 * @property {string} page
 * @property {string} card
 * @property {string} border
 * @property {string} text
 * @property {string} muted
 * @property {string} edge
 * @property {string} frame
 * @property {string} header
 * @property {string} badge
 * @property {string} hatch
 * @property {string} contradiction
 * @property {string} accent
 * @property {string} hit
 * @property {boolean} dark
 */

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';

/** @returns {Theme} */
export function readTheme() {
    const style = getComputedStyle(document.documentElement);
    /** @param {string} name @param {string} otherwise */
    const read = (name, otherwise) => style.getPropertyValue('--' + name).trim() || otherwise;
    return {
        page: read('page', '#ffffff'),
        card: read('card', '#fbfcfd'),
        border: read('card-border', '#8a94a0'),
        text: read('text', '#1b2026'),
        muted: read('muted', '#5a6572'),
        edge: read('edge', '#6b7683'),
        frame: read('frame', '#f1f4f7'),
        header: read('frame-header', '#e2e8ee'),
        badge: read('badge', '#2b4a7a'),
        hatch: read('hatch', '#c3cad2'),
        contradiction: read('contradiction', '#b3261e'),
        accent: read('accent', '#0b62d6'),
        hit: read('hit', '#f5a800'),
        dark: matchMedia('(prefers-color-scheme: dark)').matches,
    };
}

// ---- Texts that fit ---------------------------------------------------------------------------------------------------------------------

/** Widths of texts by font, forgotten when there are too many. */
class Measurer {
    constructor() {
        /** @type {Map<string, number>} */
        this.widths = new Map();
        /** @type {Map<string, string>} */
        this.fitted = new Map();
        /** @type {CanvasRenderingContext2D | null} */
        this.context = null;
    }

    /** @param {string} font @param {string} text @returns {number} */
    width(font, text) {
        const key = font + '\n' + text;
        let width = this.widths.get(key);
        if (width === undefined) {
            if (!this.context) this.context = document.createElement('canvas').getContext('2d');
            if (!this.context) return text.length * 7;
            this.context.font = font;
            width = this.context.measureText(text).width;
            if (this.widths.size > 50000) this.widths.clear();
            this.widths.set(key, width);
        }
        return width;
    }

    /**
     * A text cut in its middle to a width.
     * @param {string} font
     * @param {string} text
     * @param {number} room
     * @returns {string}
     */
    fit(font, text, room) {
        if (text === '' || room <= 0) return '';
        const short = text.length > 200 ? text.slice(0, 100) + text.slice(-100) : text;
        const key = font + '\n' + Math.round(room) + '\n' + short;
        let fitted = this.fitted.get(key);
        if (fitted === undefined) {
            fitted = this.cut(font, short, Math.round(room));
            if (this.fitted.size > 50000) this.fitted.clear();
            this.fitted.set(key, fitted);
        }
        return fitted;
    }

    /** @param {string} font @param {string} text @param {number} room @returns {string} */
    cut(font, text, room) {
        if (this.width(font, text) <= room) return text;
        const letters = Array.from(text);
        let least = 0;
        let most = letters.length - 1;
        const cutTo = (/** @type {number} */ n) => letters.slice(0, Math.ceil(n / 2)).join('') + '…' + letters.slice(letters.length - Math.floor(n / 2)).join('');
        while (least < most) {
            const middle = (least + most + 1) >> 1;
            if (this.width(font, cutTo(middle)) <= room) least = middle;
            else most = middle - 1;
        }
        return least > 0 ? cutTo(least) : '';
    }
}

export const texts = new Measurer();
