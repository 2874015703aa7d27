// SPDX-License-Identifier: Apache-2.0
// Tables: sorted, filtered, exported, walked with the keyboard; only the rows that are seen are in the page, so that 50 000 rows are fine.

import {data, readNumber} from './data.js';
import {store} from './store.js';
import {append, bytesText, el, exactNumber, fill, named, percentText, saveFile, shown, usText} from './dom.js';
import {matchQuery, parseQuery} from './query.js';
import {goTo} from './facts.js';

/** @typedef {import('./store.js').Item} Item */

/**
 * A column: `value` is what is sorted and exported; `kind` as in docs/formats/page.md.
 * @typedef {{name: string, kind: string, value: (row: number) => number | string | null,
 *     text?: (row: number) => string, rest?: boolean, item?: (row: number) => Item | null}} Column  text: how it is shown, if not as its kind is;
 * rest: takes the width that the others leave
 */

/**
 * @typedef {Object} TableOptions
 * @property {string} label for screen readers
 * @property {Column[]} columns
 * @property {number} rows
 * @property {(row: number) => void} [choose] a click on the row; without it, the first item of the row is selected
 * @property {(row: number) => void} [enter] a double click or Enter; without it, the graph shows the first item of the row
 * @property {(row: number | null) => void} [point] the pointer is over the row
 * @property {string} [file] name of exported files, without its end; none: not exported
 * @property {boolean} [filter] false: no box for a filter
 * @property {{column: number, down: boolean}} [sort]
 */

const ROW_HEIGHT = 24;
const SPARE_ROWS = 12;
let tablesMade = 0;

/** @param {string} kind */
function isNumberKind(kind) {
    return kind === 'number' || kind === 'bytes' || kind === 'us' || kind === 'percent';
}

/**
 * @param {number | string | null} value
 * @param {string} kind
 * @returns {string}
 */
export function cellText(value, kind) {
    if (value === null) return '–';
    if (typeof value === 'string') return value;
    if (kind === 'bytes') return bytesText(value);
    if (kind === 'us') return usText(value);
    return kind === 'percent' ? percentText(value) : exactNumber(value);
}

/** @param {Column} column @param {number} row @returns {string} */
function columnText(column, row) {
    return column.text ? column.text(row) : cellText(column.value(row), column.kind);
}

/**
 * Orders values: texts by their digits' values, NaN above all numbers, what is missing last in both directions.
 * @param {number | string | null} a
 * @param {number | string | null} b
 * @param {boolean} down
 */
export function compareCells(a, b, down) {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const order = typeof a === 'number' && typeof b === 'number' ? compareSizes(a, b) : collator.compare(String(a), String(b));
    return down ? -order : order;
}

const collator = new Intl.Collator('en', {numeric: true});

/** @param {number} a @param {number} b */
function compareSizes(a, b) {
    if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
    return a < b ? -1 : Number(a > b);
}

/**
 * A cell of a CSV file. Spreadsheets run texts that start like a formula, so these get an apostrophe.
 * @param {number | string | null} value
 * @returns {string}
 */
export function csvCell(value) {
    if (value === null) return '';
    if (typeof value === 'number') return Number.isFinite(value) ? String(value) : Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
    const text = /^\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/.test(value) ? `'${value}` : value;
    return /[",\r\n;]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/**
 * @param {Column[]} columns
 * @param {Iterable<number>} rows
 * @returns {string}
 */
export function tableCsv(columns, rows) {
    const lines = [columns.map((column) => csvCell(column.name)).join(',')];
    for (const row of rows) lines.push(columns.map((column) => csvCell(column.value(row))).join(','));
    return `${lines.join('\r\n')}\r\n`;
}

/**
 * @param {Column[]} columns
 * @param {Iterable<number>} rows
 * @returns {string}
 */
export function tableJson(columns, rows) {
    const list = [];
    for (const row of rows) list.push(Object.fromEntries(columns.map((column) => [column.name, jsonCell(column.value(row))])));
    return `${JSON.stringify(list, null, 1)}\n`;
}

/** @param {number | string | null} value */
function jsonCell(value) {
    return typeof value === 'number' && !Number.isFinite(value) ? csvCell(value) : value;
}

/** @param {string} name of a column @returns {string} how a filter calls it */
export function columnKey(name) {
    return name.toLowerCase().replace(/[^a-z0-9]+/g, '_').replace(/^_|_$/g, '');
}

/**
 * The rows that a filter keeps.
 * @param {Column[]} columns
 * @param {number} count
 * @param {string} text
 * @returns {{rows: number[], error: string}}
 */
export function filterRows(columns, count, text) {
    const by = new Map(columns.map((column) => [columnKey(column.name), column]));
    const numeric = columns.filter((column) => isNumberKind(column.kind));
    const parsed = parseQuery(text, {
        isText: (key) => by.has(key),
        unit: (key) => {
            const kind = by.get(key)?.kind ?? '';
            return isNumberKind(kind) ? (kind === 'number' ? '' : kind === 'percent' ? '%' : kind) : null;
        },
        isMark: () => false,
        names: () => numeric.map((column) => columnKey(column.name)),
    });
    const rows = [];
    let at = 0;
    const lower = (/** @type {Column | undefined} */ column) => (column ? cellText(column.value(at), column.kind).toLowerCase() : '');
    const searched = {
        words: () => columns.map(lower),
        texts: (/** @type {string} */ key) => [lower(by.get(key))],
        numbers: (/** @type {string} */ key) => {
            const value = by.get(key)?.value(at) ?? null;
            return [typeof value === 'number' ? value : null];
        },
        hasMark: () => false,
    };
    for (; at < count; at++) if (parsed.query === null || matchQuery(parsed.query, searched)) rows.push(at);
    return {rows, error: parsed.error ? parsed.error.text : ''};
}

/** A table in an element. */
export class TableView {
    /**
     * @param {HTMLElement} element
     * @param {TableOptions} options
     */
    constructor(element, options) {
        this.options = options;
        this.id = `table${++tablesMade}`;
        this.sort = options.sort ?? null;
        this.filter = '';
        /** @type {number[]} rows of the data in the order shown */
        this.order = [];
        this.current = -1;
        this.first = -1;
        // The part that scrolls has the focus and is the grid; the table in it only sets its columns.
        this.scroller = el('div', {class: 'grid-scroll', tabindex: 0, role: 'grid', 'aria-label': options.label, 'aria-readonly': 'true'});
        this.body = el('tbody', {role: 'rowgroup'});
        this.above = el('tr', {'aria-hidden': 'true', class: 'space'}, el('td', {colspan: options.columns.length}));
        this.below = el('tr', {'aria-hidden': 'true', class: 'space'}, el('td', {colspan: options.columns.length}));
        this.count = el('span', {class: 'count', role: 'status'});
        this.table = this.makeTable();
        this.scroller.append(this.table);
        fill(element, this.makeBar(), this.scroller);
        this.listen();
        this.arrange();
    }

    makeTable() {
        const {columns} = this.options;
        this.heads = columns.map((column, i) => {
            const sorter = el('button', {type: 'button', on: {click: () => this.sortBy(i)}}, column.name);
            return el('th', {scope: 'col', role: 'columnheader', class: isNumberKind(column.kind) ? 'number' : null}, sorter);
        });
        const widths = el('colgroup');
        for (const column of columns) {
            const col = el('col');
            if (!column.rest) col.style.width = `calc(${this.widthOf(column)}ch + 18px)`;
            widths.append(col);
        }
        return el('table', {class: 'grid', role: 'none'}, widths, el('thead', {role: 'rowgroup'}, el('tr', {role: 'row', 'aria-rowindex': 1}, ...this.heads)), this.body);
    }

    /** @param {Column} column @returns {number} characters, from a sample of the rows */
    widthOf(column) {
        const {rows} = this.options;
        const step = Math.max(1, Math.floor(rows / 300));
        let most = column.name.length + 2;
        for (let row = 0; row < rows; row += step) most = Math.max(most, columnText(column, row).length);
        return Math.min(Math.ceil(most * 1.08), 52);
    }

    makeBar() {
        const {file, filter} = this.options;
        const bar = el('div', {class: 'grid-bar'});
        if (filter !== false) {
            const keys = this.options.columns.map((column) => columnKey(column.name)).join(', ');
            const box = el('input', {
                type: 'search', class: 'filter', placeholder: 'Filter', 'aria-label': `Filter ${this.options.label}`, maxlength: 2000,
                title: `Words, "exact", column:text, column>number, -not, OR. Columns: ${keys}`,
                on: {input: (event) => this.filterBy(event.target.value)},
            });
            bar.append(box);
        }
        bar.append(this.count);
        if (file !== undefined) {
            bar.append(el('button', {type: 'button', on: {click: () => this.save('csv')}}, 'CSV'), el('button', {type: 'button', on: {click: () => this.save('json')}}, 'JSON'));
        }
        return bar;
    }

    listen() {
        this.scroller.addEventListener('scroll', () => this.draw(), {passive: true});
        this.scroller.addEventListener('keydown', (event) => this.key(event));
        // A table that was replaced by another has no size, and its rows may be gone.
        new ResizeObserver(() => this.scroller.isConnected && this.draw(true)).observe(this.scroller);
        this.body.addEventListener('click', (event) => this.click(event));
        this.body.addEventListener('dblclick', (event) => {
            const row = this.rowOf(event);
            if (row !== null) this.enter(row);
        });
        this.body.addEventListener('pointerover', (event) => this.options.point?.(this.rowOf(event)));
        this.body.addEventListener('pointerleave', () => this.options.point?.(null));
    }

    /** @param {Event} event @returns {number | null} row of the data */
    rowOf(event) {
        const target = event.target instanceof Element ? event.target.closest('tr[data-place]') : null;
        return target ? this.order[Number(target.getAttribute('data-place'))] ?? null : null;
    }

    /** @param {MouseEvent} event */
    click(event) {
        const row = this.rowOf(event);
        if (row === null) return;
        const cell = event.target instanceof Element ? event.target.closest('[data-column]') : null;
        const item = cell ? this.options.columns[Number(cell.getAttribute('data-column'))].item?.(row) : null;
        this.select(row, false);
        if (item) goTo(item);
        else if (this.options.choose) this.options.choose(row);
        else store.set({selected: this.firstItem(row) ?? store.get().selected});
    }

    /** @param {number} row @returns {Item | null} what the row is about */
    firstItem(row) {
        for (const column of this.options.columns) {
            const item = column.item?.(row);
            if (item) return item;
        }
        return null;
    }

    /** @param {number} row */
    enter(row) {
        const item = this.firstItem(row);
        if (this.options.enter) this.options.enter(row);
        else if (item) goTo(item);
        else this.options.choose?.(row);
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.scroller) return;
        const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW_HEIGHT) - 2);
        const place = this.current < 0 ? -1 : this.order.indexOf(this.current);
        const to = {ArrowDown: place + 1, ArrowUp: place - 1, PageDown: place + page, PageUp: place - page, Home: 0, End: this.order.length - 1}[event.key];
        if (to !== undefined) {
            const row = this.order[Math.min(Math.max(to, 0), this.order.length - 1)];
            if (row !== undefined) this.select(row);
            this.options.point?.(row ?? null);
        } else if (event.key === 'Enter' && this.current >= 0) {
            this.enter(this.current);
        } else return;
        event.preventDefault();
        event.stopPropagation();
    }

    /** @param {number} column */
    sortBy(column) {
        const downFirst = isNumberKind(this.options.columns[column].kind);
        if (this.sort?.column !== column) this.sort = {column, down: downFirst};
        else this.sort = this.sort.down === downFirst ? {column, down: !downFirst} : null;
        this.arrange();
    }

    /** @param {string} text */
    filterBy(text) {
        this.filter = text;
        this.arrange();
    }

    /** Filters and sorts again, after the data or the wishes changed. */
    arrange() {
        const {columns, rows: count} = this.options;
        const {rows, error} = filterRows(columns, count, this.filter);
        const sort = this.sort;
        if (sort) {
            const keys = new Map(rows.map((row) => [row, columns[sort.column].value(row)]));
            rows.sort((a, b) => compareCells(keys.get(a) ?? null, keys.get(b) ?? null, sort.down) || a - b);
        }
        this.order = rows;
        (this.heads ?? []).forEach((head, i) => {
            if (sort?.column === i) head.setAttribute('aria-sort', sort.down ? 'descending' : 'ascending');
            else head.removeAttribute('aria-sort');
        });
        this.count.textContent = error || (rows.length === count ? `${count} rows` : `${rows.length} of ${count} rows`);
        this.count.classList.toggle('error', error !== '');
        this.scroller.setAttribute('aria-rowcount', String(rows.length + 1));
        this.draw(true);
    }

    /**
     * Selects a row, and shows it.
     * @param {number} row of the data, -1: none
     * @param {boolean} [reveal]
     */
    select(row, reveal = true) {
        this.current = row;
        const place = this.order.indexOf(row);
        if (reveal && place >= 0) {
            const top = place * ROW_HEIGHT;
            const height = this.scroller.clientHeight - ROW_HEIGHT - 4;
            if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
            else if (top + ROW_HEIGHT > this.scroller.scrollTop + height) this.scroller.scrollTop = top + ROW_HEIGHT - height;
        }
        this.draw(true);
    }

    /**
     * Puts the rows that are seen into the page.
     * @param {boolean} [always]
     */
    draw(always = false) {
        const seen = Math.ceil(this.scroller.clientHeight / ROW_HEIGHT) + 2 * SPARE_ROWS;
        const first = Math.max(0, Math.floor(this.scroller.scrollTop / ROW_HEIGHT) - SPARE_ROWS);
        if (!always && Math.abs(first - this.first) < SPARE_ROWS / 2) return;
        this.first = first;
        const end = Math.min(this.order.length, first + seen);
        const rows = [];
        for (let place = first; place < end; place++) rows.push(this.drawRow(place));
        this.above.style.height = `${first * ROW_HEIGHT}px`;
        this.below.style.height = `${(this.order.length - end) * ROW_HEIGHT}px`;
        this.body.replaceChildren(this.above, ...rows, this.below);
        const place = this.order.indexOf(this.current);
        if (place >= first && place < end) this.scroller.setAttribute('aria-activedescendant', `${this.id}-${place}`);
        else this.scroller.removeAttribute('aria-activedescendant');
    }

    /** @param {number} place */
    drawRow(place) {
        const row = this.order[place];
        const made = el('tr', {role: 'row', id: `${this.id}-${place}`, 'data-place': place, 'aria-rowindex': place + 2, 'aria-selected': row === this.current ? 'true' : 'false'});
        this.options.columns.forEach((column, i) => {
            const value = column.value(row);
            const text = columnText(column, row);
            const linked = column.item?.(row) ?? null;
            const cell = el('td', {role: 'gridcell', class: cellClass(column.kind, value)});
            if (linked) append(cell, [el('span', {class: 'link', 'data-column': i}, named(text, 80))]);
            else if (typeof value === 'string' && value !== '') append(cell, [named(text, 120)]);
            else append(cell, [text]);
            if (text.length > 40) cell.title = shown(text.slice(0, 2000));
            made.append(cell);
        });
        return made;
    }

    /** @param {'csv' | 'json'} kind */
    save(kind) {
        const {columns, file} = this.options;
        if (kind === 'csv') saveFile(`${file}.csv`, [tableCsv(columns, this.order)], 'text/csv');
        else saveFile(`${file}.json`, [tableJson(columns, this.order)], 'application/json');
    }
}

/** @param {string} kind @param {number | string | null} value */
function cellClass(kind, value) {
    const classes = [];
    if (isNumberKind(kind)) classes.push('number');
    if (kind === 'verdict' && typeof value === 'string') classes.push(/fail/i.test(value) ? 'verdict-fail' : /pass/i.test(value) ? 'verdict-pass' : 'verdict');
    if (value === null) classes.push('missing');
    return classes.length ? classes.join(' ') : null;
}

/**
 * The columns of a table of the page.
 * @param {import('./data.js').Table} table
 * @returns {Column[]}
 */
export function tableColumns(table) {
    return table.columns.map(({name, kind}, i) => {
        const cell = (/** @type {number} */ row) => table.rows[row][i] ?? null;
        if (kind === 'node' || kind === 'tensor') {
            return {
                name, kind,
                value: (row) => cell(row)?.[1] ?? null,
                item: (row) => {
                    const found = cell(row);
                    return found && found[0] >= 0 ? {kind, id: found[0], graph: table.graph} : null;
                },
            };
        }
        return {name, kind, value: isNumberKind(kind) ? (row) => readNumber(cell(row)) : cell};
    });
}

/**
 * Shows the table that is the state's view.
 * @param {HTMLElement} element
 */
export function mountTable(element) {
    /** @type {Map<string, HTMLElement>} */
    const made = new Map();
    const update = () => {
        const id = store.get().view;
        const entry = data.head().tables.find((table) => table.id === id);
        if (!entry) return;
        let panel = made.get(id);
        if (!panel) {
            panel = tablePanel(id);
            made.set(id, panel);
        }
        if (panel.parentNode !== element) fill(element, panel);
    };
    store.on((changed) => changed.has('view') && update());
    update();
}

/** @param {string} id */
function tablePanel(id) {
    const table = data.table(id);
    const panel = el('div', {class: 'panel fills'});
    if (!table) {
        fill(panel, el('p', {class: 'note'}, `The page has no block "table-${id}": the file is incomplete; write it again.`));
        return panel;
    }
    const grid = el('div', {class: 'grid-box'});
    fill(panel, el('h2', {}, table.title), table.note ? el('p', {class: 'note'}, shown(table.note)) : null, grid);
    new TableView(grid, {label: table.title, columns: tableColumns(table), rows: table.rows.length, file: columnKey(table.id) || 'table'});
    return panel;
}
