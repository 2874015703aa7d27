// SPDX-License-Identifier: Apache-2.0
// Elements, names and numbers as the panels show them. Everything from a model becomes a text node.

/** @typedef {string | number | Node | null | undefined | false} Child */
/** @typedef {{[event: string]: (event: any) => void}} Listeners */

/**
 * Makes an element. Attributes are set as text; `on` has the listeners.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {{[name: string]: string | number | boolean | Listeners | null | undefined}} [attributes] true: present, false: absent
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (value === null || value === undefined || value === false) continue;
        if (typeof value === 'object') {
            for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
        } else if (/^(on|style|srcdoc)/.test(name)) {
            throw new Error(`attribute ${name} is not allowed`);
        } else {
            made.setAttribute(name, value === true ? '' : String(value));
        }
    }
    append(made, children);
    return made;
}

/** @param {string} id of a region of index.html @returns {HTMLElement} */
export function region(id) {
    const found = document.getElementById(id);
    if (!found) throw new Error('index.html has no element #' + id);
    return found;
}

/**
 * @param {Node} parent
 * @param {Child[]} children
 */
export function append(parent, children) {
    for (const child of children) {
        if (child === null || child === undefined || child === false) continue;
        parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
    }
}

/**
 * Replaces what an element contains.
 * @param {Element} parent
 * @param {...Child} children
 */
export function fill(parent, ...children) {
    parent.replaceChildren();
    append(parent, children);
}

/**
 * Makes an SVG element.
 * @param {string} tag
 * @param {{[name: string]: string | number}} attributes
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svgElement(tag, attributes, ...children) {
    const made = /** @type {SVGElement} */ (document.createElementNS('http://www.w3.org/2000/svg', tag));
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    append(made, children);
    return made;
}

/**
 * A button that does one thing.
 * @param {string} label
 * @param {(event: MouseEvent) => void} action
 * @param {{[name: string]: string | number | boolean | null | undefined}} [attributes]
 */
export function button(label, action, attributes) {
    return el('button', {type: 'button', ...attributes, on: {click: action}}, label);
}

// ---- Names ------------------------------------------------------------------------------------------

// Characters that have no picture of their own or change the direction or order of others.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/g;

/**
 * The text with control and direction characters made visible: control pictures, or [U+202E].
 * @param {string} text
 * @returns {string}
 */
export function shown(text) {
    return text.replace(HIDDEN, (found) => {
        const code = found.codePointAt(0) ?? 0;
        if (code < 0x20) return String.fromCharCode(0x2400 + code);
        if (code === 0x7f) return '\u2421';
        return `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`;
    });
}

/**
 * A text of at most so many characters, shortened in the middle.
 * @param {string} text
 * @param {number} limit
 */
export function shortened(text, limit) {
    if (text.length <= limit) return text;
    const head = Math.ceil((limit - 1) / 2);
    return `${text.slice(0, head)}…${text.slice(text.length - (limit - 1 - head))}`;
}

/**
 * An element that shows a name from a model.
 * @param {string} name
 * @param {number} [limit] shown characters; the full name is the tool tip
 * @returns {HTMLElement}
 */
export function named(name, limit = 0) {
    if (name === '') return el('span', {class: 'unnamed'}, '(unnamed)');
    const text = shown(limit > 0 ? shortened(name, limit) : name);
    const made = el('bdi', {class: 'name'}, text);
    if (limit > 0 && name.length > limit) made.title = shown(shortened(name, 2000));
    return made;
}

// ---- Numbers ----------------------------------------------------------------------------------------

/**
 * Not a finite number, as text; '' if it is finite.
 * @param {number} value
 */
function oddNumber(value) {
    if (Number.isNaN(value)) return 'NaN';
    if (value === Infinity) return 'Inf';
    return value === -Infinity ? '-Inf' : '';
}

/** @param {string} text */
function trimmed(text) {
    return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/**
 * A number for tables: seven digits, no more than it has.
 * @param {number | null} value
 * @returns {string}
 */
export function exactNumber(value) {
    if (value === null) return '–';
    if (!Number.isFinite(value)) return oddNumber(value);
    if (Number.isInteger(value) && Math.abs(value) < 1e15) return grouped(value);
    const size = Math.abs(value);
    if (size >= 1e-4 && size < 1e7) return String(Number(value.toPrecision(7)));
    return String(Number(value.toPrecision(7)).toExponential()).replace('e+', 'e');
}

/**
 * An integer with thin spaces between thousands.
 * @param {number} value
 */
export function grouped(value) {
    return String(value).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/**
 * @param {number | null} value
 * @returns {string}
 */
export function bytesText(value) {
    if (value === null) return '–';
    if (!Number.isFinite(value)) return oddNumber(value);
    let rest = Math.abs(value);
    if (rest < 1024) return `${value} B`;
    for (const unit of ['KiB', 'MiB', 'GiB', 'TiB']) {
        rest /= 1024;
        if (rest < 1024 || unit === 'TiB') return `${value < 0 ? '-' : ''}${rest.toPrecision(rest < 1000 ? 3 : 4)} ${unit}`;
    }
    return '';
}

/**
 * A time in microseconds.
 * @param {number | null} value
 * @returns {string}
 */
export function usText(value) {
    if (value === null) return '–';
    if (!Number.isFinite(value)) return oddNumber(value);
    const size = Math.abs(value);
    if (size === 0) return '0 µs';
    if (size < 999.5) return `${digits3(value)} µs`;
    return size < 999500 ? `${digits3(value / 1e3)} ms` : `${digits3(value / 1e6)} s`;
}

/** @param {number} value under 1000 unless it counts seconds */
function digits3(value) {
    return Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

/**
 * @param {number | null} value in percent
 * @returns {string}
 */
export function percentText(value) {
    if (value === null) return '–';
    if (!Number.isFinite(value)) return oddNumber(value);
    const size = Math.abs(value);
    return `${size !== 0 && size < 0.01 ? value.toExponential(0) : trimmed(value.toFixed(2))} %`;
}

/**
 * A number with its unit.
 * @param {number | null} value
 * @param {string} unit
 * @returns {string}
 */
export function unitText(value, unit) {
    if (unit === 'us') return usText(value);
    if (unit === 'bytes' || unit === 'B') return bytesText(value);
    if (unit === '%' || unit === 'percent') return percentText(value);
    const text = exactNumber(value);
    return unit === '' || value === null ? text : `${text} ${unit}`;
}

// ---- Focus, copies, files ---------------------------------------------------------------------------

/**
 * Says something to screen readers.
 * @param {string} text
 */
export function announce(text) {
    const status = document.getElementById('announcer');
    if (status) status.textContent = text;
}

/**
 * Makes the arrow keys move between the parts of a bar or list, of which one is in the tab order.
 * @param {HTMLElement} element
 * @param {string} selector what can have the focus
 * @param {boolean} [vertical]
 */
export function roveFocus(element, selector, vertical = false) {
    const [back, forward] = vertical ? ['ArrowUp', 'ArrowDown'] : ['ArrowLeft', 'ArrowRight'];
    element.addEventListener('keydown', (event) => {
        if (![back, forward, 'Home', 'End'].includes(event.key)) return;
        const parts = /** @type {HTMLElement[]} */ ([...element.querySelectorAll(selector)].filter((part) => !(/** @type {HTMLElement} */ (part).hidden)));
        const at = parts.indexOf(/** @type {HTMLElement} */ (document.activeElement));
        if (at < 0) return;
        const to = {[back]: at - 1, [forward]: at + 1, Home: 0, End: parts.length - 1}[event.key] ?? at;
        event.preventDefault();
        event.stopPropagation();
        parts[(to + parts.length) % parts.length].focus();
    });
}

/**
 * True if the key press belongs to what has the focus: a text box, or a choice.
 * @param {KeyboardEvent} event
 */
export function isTyping(event) {
    const target = /** @type {HTMLElement | null} */ (event.target instanceof HTMLElement ? event.target : null);
    return target !== null && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/**
 * Puts a text onto the clipboard. Pages from disk may not use the clipboard's interface, so there is a second way.
 * @param {string} text
 * @returns {Promise<boolean>}
 */
export async function copyText(text) {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        const active = /** @type {HTMLElement | null} */ (document.activeElement);
        const area = el('textarea', {class: 'offscreen', readonly: true, 'aria-hidden': 'true'});
        area.value = text;
        (active?.closest('dialog') ?? document.body).append(area);
        area.select();
        const done = document.execCommand('copy');
        area.remove();
        active?.focus();
        return done;
    }
}

/**
 * A button that copies a text and says so.
 * @param {string | (() => string)} text
 * @param {string} [label]
 * @param {string} [description] for screen readers, where the label alone says too little
 */
export function copyButton(text, label = 'Copy', description) {
    const made = button(label, async () => {
        const done = await copyText(typeof text === 'string' ? text : text());
        made.textContent = done ? 'Copied' : 'Not copied';
        announce(done ? 'Copied' : 'The browser did not allow the copy');
        setTimeout(() => { made.textContent = label; }, 1200);
    }, {class: 'copy', 'aria-label': description});
    return made;
}

/**
 * Lets the user save a file.
 * @param {string} name
 * @param {BlobPart[]} parts
 * @param {string} type
 */
export function saveFile(name, parts, type) {
    const address = URL.createObjectURL(new Blob(parts, {type}));
    const link = el('a', {href: address, download: name});
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/**
 * Rows of names and values.
 * @param {Array<[Child, Child] | null | false>} rows
 */
export function facts(rows) {
    const list = el('dl', {class: 'facts'});
    for (const row of rows) {
        if (!row || row[1] === null || row[1] === undefined || row[1] === false || row[1] === '') continue;
        list.append(el('dt', {}, row[0]), el('dd', {}, row[1]));
    }
    return list;
}
