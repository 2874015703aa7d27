// SPDX-License-Identifier: Apache-2.0
// The query language of the find box and of the tables' filters: words that must all match, quotes for exact, field:text, quantity>number,
// marks, -negation, OR and parentheses. Pure: what is searched is behind `Searched`.

/**
 * @typedef {{kind: 'and' | 'or', parts: Query[]} | {kind: 'not', part: Query} | {kind: 'word', text: string, exact: boolean} |
 *     {kind: 'mark', mark: string} | {kind: 'text', key: string, text: string, exact: boolean} |
 *     {kind: 'number', key: string, op: string, value: number}} Query
 */

/**
 * What fields there are. `unit` is null for a name that is not a number.
 * @typedef {{isText: (key: string) => boolean, unit: (key: string) => string | null, isMark: (word: string) => boolean, names: () => string[]}} Fields
 */

/**
 * One thing that is searched. Texts are in lower case. `numbers` has null where nothing was measured.
 * @typedef {{words: () => string[], texts: (key: string) => string[], numbers: (key: string) => (number | null)[], hasMark: (mark: string) => boolean}} Searched
 */

/** @typedef {{at: number, end: number, text: string}} QueryError  characters `at` to `end` of the query */
/** @typedef {{query: Query | null, error: QueryError | null, notes: string[]}} Parsed */

// A bound on the depth of parentheses, among others.
const QUERY_LIMIT = 2000;

/** @typedef {{text: string, at: number, end: number, quoted: boolean, open: boolean}} QueryToken  open: the closing quote is missing */

/**
 * @param {string} text
 * @returns {QueryToken[]}
 */
function queryTokens(text) {
    /** @type {QueryToken[]} */
    const tokens = [];
    let depth = 0;
    let i = 0;
    const push = (/** @type {number} */ end) => {
        tokens.push({text: text.slice(i, end), at: i, end, quoted: false, open: false});
        i = end;
    };
    while (i < text.length) {
        const c = text[i];
        if (/\s/.test(c)) i++;
        else if (c === '(' || (c === ')' && depth > 0)) {
            depth += c === '(' ? 1 : -1;
            push(i + 1);
        } else if (c === '-' && /[^\s]/.test(text[i + 1] ?? ' ')) push(i + 1);
        else if (c === '"') i = pushQuoted(tokens, text, i, i);
        else {
            let end = i;
            while (end < text.length && !/[\s"]/.test(text[end]) && !(text[end] === ')' && depth > 0)) end++;
            if (text[end] === '"' && text[end - 1] === ':') i = pushQuoted(tokens, text, i, end);
            else push(end);
        }
    }
    return tokens;
}

/**
 * Adds `key:"text"` or `"text"` with the quotes taken off.
 * @param {QueryToken[]} tokens
 * @param {string} text
 * @param {number} at where the token starts
 * @param {number} quote where its quote is
 * @returns {number} where it ends
 */
function pushQuoted(tokens, text, at, quote) {
    const close = text.indexOf('"', quote + 1);
    const end = close < 0 ? text.length : close + 1;
    const inside = text.slice(quote + 1, close < 0 ? text.length : close);
    tokens.push({text: text.slice(at, quote) + inside, at, end, quoted: true, open: close < 0});
    return end;
}

class QueryParser {
    /**
     * @param {string} text
     * @param {Fields} fields
     */
    constructor(text, fields) {
        this.tokens = queryTokens(text);
        this.fields = fields;
        this.length = text.length;
        this.next = 0;
        /** @type {string[]} */
        this.notes = [];
    }

    /** @returns {Query | null} null: nothing before the end or the parenthesis */
    either() {
        const parts = [this.all()];
        while (this.peek() === 'OR' || this.peek() === '|') {
            const or = this.tokens[this.next++];
            if (parts[parts.length - 1] === null) this.fail(or.at, or.end, `nothing stands before "${or.text}"`);
            parts.push(this.all());
            if (parts[parts.length - 1] === null) this.fail(or.at, or.end, `nothing stands after "${or.text}"`);
        }
        return parts.length === 1 ? parts[0] : {kind: 'or', parts: /** @type {Query[]} */ (parts)};
    }

    /** @returns {Query | null} */
    all() {
        /** @type {Query[]} */
        const parts = [];
        for (let word = this.peek(); word !== null && word !== 'OR' && word !== '|' && word !== ')'; word = this.peek()) {
            if (word === 'AND' || word === '&') this.next++;
            else parts.push(this.term());
        }
        if (parts.length === 0) return null;
        return parts.length === 1 ? parts[0] : {kind: 'and', parts};
    }

    /** @returns {Query} */
    term() {
        const token = this.tokens[this.next++];
        if (token.open) this.fail(token.at, token.end, 'the closing quote is missing');
        if (token.quoted) return this.word(token);
        if (token.text === '-') {
            if (this.peek() === null || this.peek() === ')') this.fail(token.at, token.end, 'nothing stands after "-"');
            return {kind: 'not', part: this.term()};
        }
        if (token.text === '(') {
            const inside = this.either();
            if (this.peek() !== ')') this.fail(token.at, token.end, 'the closing parenthesis is missing');
            const close = this.tokens[this.next++];
            if (inside === null) this.fail(token.at, close.end, 'nothing stands in the parentheses');
            return /** @type {Query} */ (inside);
        }
        return this.word(token);
    }

    /**
     * @param {QueryToken} token
     * @returns {Query}
     */
    word(token) {
        const compared = token.quoted ? null : /^([a-z_]\w*)(<=|>=|!=|<|>|=)(.*)$/i.exec(token.text);
        if (compared) return this.comparison(token, compared[1].toLowerCase(), compared[2], compared[3]);
        const split = /^([a-z_]\w*):(.*)$/is.exec(token.text);
        if (split) {
            const key = split[1].toLowerCase();
            if (this.fields.isText(key)) {
                if (split[2] === '' && !token.quoted) this.fail(token.at, token.end, `nothing stands after "${key}:"`);
                return {kind: 'text', key, text: split[2].toLowerCase(), exact: token.quoted};
            }
            if (split[2] !== '') this.notes.push(`"${split[1]}:" is no field, so "${token.text}" is searched as text`);
        }
        const lower = token.text.toLowerCase();
        if (!token.quoted && this.fields.isMark(lower)) return {kind: 'mark', mark: lower};
        return {kind: 'word', text: lower, exact: token.quoted};
    }

    /**
     * @param {QueryToken} token
     * @param {string} key
     * @param {string} op
     * @param {string} written
     * @returns {Query}
     */
    comparison(token, key, op, written) {
        const unit = this.fields.unit(key);
        if (unit === null) this.fail(token.at, token.at + key.length, `"${key}" is no quantity of this page; there are: ${this.fields.names().join(', ')}`);
        const value = readQuantity(written, unit ?? '');
        if (value === null) {
            const expected = unit === 'us' ? 'a time, such as 20us or 1.5ms' : unit === 'bytes' ? 'a size, such as 64KiB' : 'a number, such as 1e-3';
            this.fail(token.at + key.length + op.length, token.end, `"${written}" is not ${expected}`);
        }
        return {kind: 'number', key, op, value: value ?? 0};
    }

    /** @returns {string | null} */
    peek() {
        const token = this.tokens[this.next];
        return token === undefined ? null : token.quoted ? '' : token.text;
    }

    /**
     * @param {number} at
     * @param {number} end
     * @param {string} text
     */
    fail(at, end, text) {
        throw new QueryFailure(at, Math.max(end, at + 1), text);
    }
}

class QueryFailure extends Error {
    /**
     * @param {number} at
     * @param {number} end
     * @param {string} text
     */
    constructor(at, end, text) {
        super(text);
        this.at = at;
        this.end = end;
    }
}

/**
 * @param {string} text
 * @param {Fields} fields
 * @returns {Parsed} query null without an error: the text is empty
 */
export function parseQuery(text, fields) {
    if (text.length > QUERY_LIMIT) {
        return {query: null, error: {at: QUERY_LIMIT, end: text.length, text: `a query has ${QUERY_LIMIT} characters at most`}, notes: []};
    }
    const parser = new QueryParser(text, fields);
    try {
        return {query: parser.either(), error: null, notes: parser.notes};
    } catch (failure) {
        if (!(failure instanceof QueryFailure)) throw failure;
        return {query: null, error: {at: failure.at, end: failure.end, text: failure.message}, notes: []};
    }
}

const FACTORS = new Map([['k', 1e3], ['m', 1e6], ['g', 1e9], ['t', 1e12]]);
const TIMES = new Map([['ns', 1e-3], ['us', 1], ['\u00b5s', 1], ['ms', 1e3], ['s', 1e6]]);
const SIZES = new Map([['b', 1], ['k', 1024], ['kib', 1024], ['kb', 1e3], ['m', 1 << 20], ['mib', 1 << 20], ['mb', 1e6], ['g', 2 ** 30], ['gib', 2 ** 30], ['gb', 1e9]]);

/**
 * A number with its unit, as a user writes it.
 * @param {string} text
 * @param {string} unit of the quantity
 * @returns {number | null} null: it is none
 */
export function readQuantity(text, unit) {
    const found = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?inf|nan)([a-z%\u00b5]*)$/i.exec(text.trim());
    if (!found) return null;
    const word = found[1].toLowerCase();
    const number = word === 'nan' ? NaN : word.endsWith('inf') ? (word[0] === '-' ? -Infinity : Infinity) : Number(word);
    const suffix = found[2].toLowerCase();
    if (suffix === '' || suffix === unit.toLowerCase()) return number;
    const table = unit === 'us' ? TIMES : unit === 'bytes' ? SIZES : FACTORS;
    const factor = table.get(suffix);
    return factor === undefined ? null : number * factor;
}

/**
 * @param {Query} query
 * @param {Searched} item
 * @returns {boolean}
 */
export function matchQuery(query, item) {
    switch (query.kind) {
    case 'and':
        return query.parts.every((part) => matchQuery(part, item));
    case 'or':
        return query.parts.some((part) => matchQuery(part, item));
    case 'not':
        return !matchQuery(query.part, item);
    case 'word':
        return item.words().some((word) => (query.exact ? word === query.text : word.includes(query.text)));
    case 'mark':
        return item.hasMark(query.mark);
    case 'number':
        return item.numbers(query.key).some((value) => value !== null && compareNumbers(value, query.op, query.value));
    default:
        return matchField(query.key, query.text, query.exact, item.texts(query.key));
    }
}

/**
 * @param {string} key
 * @param {string} text
 * @param {boolean} exact
 * @param {string[]} found
 */
function matchField(key, text, exact, found) {
    if (exact) return found.includes(text);
    if (key === 'shape') return found.some((shape) => matchShape(shape, text));
    if (key === 'op') return found.some((op) => matchWildcard(op, text));
    return found.some((word) => (text.includes('*') ? matchWildcard(word, text) : word.includes(text)));
}

/**
 * The whole word, with * for anything: `op:Conv` is not ConvTranspose.
 * @param {string} word
 * @param {string} pattern
 */
function matchWildcard(word, pattern) {
    const parts = pattern.split('*');
    if (parts.length === 1) return word === pattern;
    const last = parts[parts.length - 1];
    if (!word.startsWith(parts[0]) || !word.endsWith(last)) return false;
    let at = parts[0].length;
    for (const part of parts.slice(1, -1)) {
        const found = word.indexOf(part, at);
        if (found < 0) return false;
        at = found + part.length;
    }
    return at <= word.length - last.length;
}

/**
 * A shape matches if it has these sizes one after the other: `64x` has one more size after 64, `x64` one before, * is any size.
 * @param {string} shape such as 1x64x56x56
 * @param {string} pattern
 */
export function matchShape(shape, pattern) {
    const sizes = shape.split('x');
    const wanted = pattern.replace(/[\u00d7,]/g, 'x').split('x');
    const is = (/** @type {string} */ size, /** @type {string} */ want) => want === '' || want === '*' || size === want;
    for (let at = 0; at + wanted.length <= sizes.length; at++) {
        if (wanted.every((want, i) => is(sizes[at + i], want))) return true;
    }
    return false;
}

/**
 * NaN counts as larger than every number: it is the worst error, and a search for large errors must find it.
 * @param {number} a
 * @param {string} op
 * @param {number} b
 */
function compareNumbers(a, op, b) {
    const same = a === b || (Number.isNaN(a) && Number.isNaN(b));
    const more = !same && (Number.isNaN(a) || a > b);
    switch (op) {
    case '=':
        return same;
    case '!=':
        return !same;
    case '>':
        return more;
    case '>=':
        return more || same;
    case '<':
        return !more && !same;
    default:
        return !more;
    }
}
