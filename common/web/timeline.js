/* timeline.js: draws one request on two clocks.
 *
 * The browser's lane holds two nested bars: the whole answer (end-to-end) and, inside it, the wait
 * for the answer to begin (TTFT). The server's lane holds the server's events. The two lanes share
 * the scale, so lengths can be compared, and have different zeros, so positions can't: the server's
 * lane begins after a gap of unknown length, drawn as such. Nothing here subtracts one clock from
 * the other, and nothing here decides a number: it places stamps and prints the labels it is given.
 */

const SVG = "http://www.w3.org/2000/svg";

/* Heights and gaps in rem; one line of the drawing each, from top to bottom. */
const TITLE = 1.75, BAR = 4.9, INNER = 2.6, PAD = 0.3, LEADER = 0.75, LABEL = 1.35, GAP = 0.6, SERVER_BAR = 1.7;
const UNKNOWN = 6.5; /* width of the gap of unknown length */
export const TIMELINE_HEIGHT_REM = TITLE + BAR + LEADER + LABEL + GAP + TITLE + SERVER_BAR + LEADER + LABEL;

/* How much time the lanes show: a round number above what has passed, so that the scale rests while
 * bars grow; once all is known, exactly what there is. */
export function domainMs(elapsedMs, finished) {
    if (finished) return Math.max(elapsedMs, 0.1);
    for (let unit = 1000; ; unit *= 10)
        for (const factor of [1, 2, 5]) if (elapsedMs * 1.12 < unit * factor) return unit * factor;
}

/* 12.34 ms, 4.461 s: four digits, the unit always there. */
export function showMs(ms) {
    if (ms === null || ms === undefined) return "absent";
    if (ms === 0) return "0 ms";
    if (Math.abs(ms) >= 1000) return `${(ms / 1000).toFixed(ms >= 100000 ? 1 : ms >= 10000 ? 2 : 3)} s`;
    return `${ms.toFixed(ms >= 100 ? 1 : ms >= 10 ? 2 : 3)} ms`;
}

export class Timeline {
    #svg;
    #pen = document.createElement("canvas").getContext("2d"); // measures text

    constructor(svg) {
        this.#svg = svg;
    }

    /* Draws the state of one request:
     *   domainMs   what the lanes show
     *   submitted  true once it is sent; elapsedMs: browser time since then (frozen when it ended)
     *   firstMs    browser time from submission to the first content byte, or null
     *   over       true when nothing more will come; ended: true when the end of the body was seen
     *   ticksMs[]  when text arrived, from submission
     *   labels     {wait, whole}: the numbers to print on the two bars
     *   server[]   {name, ms}: the server's events, ms from its own request_accepted
     *   sentMs[]   the server's token_sent events, likewise */
    draw(state) {
        const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
        const width = this.#svg.clientWidth || 800;
        const height = TIMELINE_HEIGHT_REM * rem;
        this.#svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
        this.#svg.style.height = `${height}px`;
        this.#svg.replaceChildren();
        const right = width - 1;
        const place = { rem, right, zero: UNKNOWN * rem, perMs: (right - UNKNOWN * rem) / state.domainMs };
        this.#browserLane(state, { ...place, zero: 1, top: 0 });
        this.#serverLane(state, { ...place, top: (TITLE + BAR + LEADER + LABEL + GAP) * rem });
    }

    #browserLane(s, p) {
        const { rem } = p;
        const top = p.top + TITLE * rem, inner = top + PAD * rem;
        this.#text("lane browser", 0, p.top + 1.15 * rem, "Browser’s clock");
        this.#note("Browser’s clock", p, "zero: the page sends the request");
        this.#rect("track", p.zero, top, s.domainMs * p.perMs, BAR * rem, 0.5 * rem);
        if (!s.submitted) return this.#ghost(s, p, top);

        const whole = Math.max(s.elapsedMs * p.perMs, 2);
        const wait = Math.max((s.firstMs ?? s.elapsedMs) * p.perMs, 2);
        this.#rect(`whole${s.ended ? "" : " open"}`, p.zero, top, whole, BAR * rem, 0.5 * rem);
        this.#ticks("tick", s.ticksMs, p, inner, INNER * rem);
        const never = s.over && s.firstMs === null;
        const waitClass = never ? "ghost" : s.firstMs === null ? "wait open" : "wait";
        this.#rect(waitClass, p.zero, inner, wait, INNER * rem, 0.35 * rem);
        const waitWords = never ? "the answer never began" : "waiting for the answer to begin";
        this.#barLabel(never ? "whole-text" : "wait-text", waitWords, s.labels.wait, wait, p, inner, INNER);
        const wholeWords = s.over && !s.ended ? "its end was never seen" : "whole answer";
        this.#barLabel("whole-text", wholeWords, s.labels.whole, whole, p, inner + INNER * rem, BAR - INNER - PAD);

        const pins = [{ name: "request submitted", ms: 0 }];
        if (s.firstMs !== null) pins.push({ name: "first byte received", ms: s.firstMs });
        if (s.ended) pins.push({ name: "final byte received", ms: s.elapsedMs });
        this.#pins("browser", pins, p, top + BAR * rem);
    }

    /* Before the first request: what the two bars will mean. */
    #ghost(s, p, top) {
        const { rem } = p, inner = top + PAD * rem, whole = s.domainMs * p.perMs, wait = 0.55 * whole;
        this.#rect("ghost", p.zero, top, whole, BAR * rem, 0.5 * rem);
        this.#rect("ghost", p.zero, inner, wait, INNER * rem, 0.35 * rem);
        const label = (words, width, y, height) => this.#barLabel("ghost-text", words, "", width, p, y, height);
        label("waiting for the answer to begin: time to first token (TTFT)", wait, inner, INNER);
        label("whole answer: end-to-end latency", whole, inner + INNER * rem, BAR - INNER - PAD);
    }

    #serverLane(s, p) {
        const { rem } = p;
        const top = p.top + TITLE * rem, middle = top + SERVER_BAR * rem / 2;
        this.#text("lane server", 0, p.top + 1.15 * rem, "Server’s clock");
        this.#note("Server’s clock", p, "another zero: the server accepts the request. "
            + "Compare lengths between the lanes, never positions.");
        this.#line("unknown", 0, middle, p.zero, middle);
        this.#text("unknown-text", p.zero / 2, middle - 0.35 * rem, "? unknown", "middle");
        this.#rect("track", p.zero, top, p.right - p.zero, SERVER_BAR * rem, 0.35 * rem);
        this.#line("zero", p.zero, top - 0.25 * rem, p.zero, top + (SERVER_BAR + 0.25) * rem);
        if (s.server.length === 0) return;

        const at = (name) => s.server.find((e) => e.name === name)?.ms;
        const last = s.server[s.server.length - 1].ms;
        const first = at("first token"), admitted = at("request admitted");
        if (first !== undefined) this.#part("writing", "", first, last, p, top);
        this.#ticks("server-tick", s.sentMs, p, top + 0.35 * SERVER_BAR * rem, 0.65 * SERVER_BAR * rem);
        this.#part("reading", "reading the prompt", admitted ?? 0, first ?? last, p, top);
        this.#part("queue", "queued", 0, admitted ?? last, p, top);
        this.#pins("server", s.server, p, top + SERVER_BAR * rem);
    }

    /* A stretch of the server's bar, with its word where that fits. */
    #part(cls, words, from, to, p, top) {
        if (to <= from) return;
        const x = p.zero + from * p.perMs, width = Math.max((to - from) * p.perMs, 2);
        this.#rect(cls, x, top, width, SERVER_BAR * p.rem, 0.15 * p.rem);
        if (words && this.#width(words, p.rem, 700) + 1.2 * p.rem < width)
            this.#text(`part ${cls}-text`, x + 0.6 * p.rem, top + (SERVER_BAR / 2 + 0.36) * p.rem, words);
    }

    /* A label inside its bar where it fits, else behind its end (over the text's ticks, on a patch). */
    #barLabel(cls, words, value, barWidth, p, y, height) {
        const text = value ? `${words}  ${value}` : words;
        const need = this.#width(text, 1.3 * p.rem, 700) + 1.4 * p.rem;
        const behind = need > barWidth && p.zero + barWidth + need < p.right;
        const x = p.zero + (behind ? barWidth : 0);
        if (behind && cls === "wait-text")
            this.#rect("patch", x + 0.2 * p.rem, y - 1, need - 0.2 * p.rem, height * p.rem + 2, 0);
        this.#text(`bar-text ${cls}${behind ? " behind" : ""}`, x + 0.7 * p.rem, y + (height / 2 + 0.45) * p.rem, text);
    }

    /* Event labels under a lane, spread sideways until none overlaps, each tied to its place. */
    #pins(cls, events, p, y) {
        const gap = 1.6 * p.rem, lineAt = y + LEADER * p.rem;
        const labels = events.map((e) => {
            const time = showMs(e.ms), nameWidth = this.#width(`${e.name} `, p.rem, 400);
            const w = nameWidth + this.#width(time, p.rem, 700);
            return { ...e, time, nameWidth, w, x: p.zero + e.ms * p.perMs, left: 0 };
        });
        spread(labels, 0, p.right, gap);
        for (const l of labels) {
            const anchor = Math.min(Math.max(l.x, l.left + 0.2 * p.rem), l.left + l.w - 0.2 * p.rem);
            this.#path(`leader ${cls}`, `M${l.x} ${y}V${y + 0.2 * p.rem}L${anchor} ${lineAt}`);
            this.#circle(`dot ${cls}`, l.x, y, 0.27 * p.rem);
            this.#text(`event ${cls}`, l.left, lineAt + 0.9 * p.rem, l.name);
            this.#text(`time ${cls}`, l.left + l.nameWidth, lineAt + 0.9 * p.rem, l.time);
        }
    }

    #ticks(cls, times, p, y, height) {
        if (times.length === 0) return;
        this.#path(cls, times.map((ms) => `M${(p.zero + ms * p.perMs).toFixed(1)} ${y}v${height}`).join(""));
    }

    #note(title, p, text) {
        this.#text("note", this.#width(title, 1.2 * p.rem, 700) + 1 * p.rem, p.top + 1.15 * p.rem, text);
    }

    #width(text, px, weight) {
        this.#pen.font = `${weight} ${px}px ${getComputedStyle(document.body).fontFamily}`;
        return this.#pen.measureText(text).width;
    }

    #add(tag, cls, attributes) {
        const node = document.createElementNS(SVG, tag);
        node.setAttribute("class", cls);
        for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
        this.#svg.append(node);
        return node;
    }
    #text(cls, x, y, text, anchor = "start") {
        this.#add("text", cls, { x, y, "text-anchor": anchor }).textContent = text;
    }
    #rect(cls, x, y, width, height, rx) {
        this.#add("rect", cls, { x, y, width, height, rx });
    }
    #line(cls, x1, y1, x2, y2) {
        this.#add("line", cls, { x1, y1, x2, y2 });
    }
    #path(cls, d) {
        this.#add("path", cls, { d });
    }
    #circle(cls, cx, cy, r) {
        this.#add("circle", cls, { cx, cy, r });
    }
}

/* Gives each label (sorted by x) a `left` such that all lie within [lo, hi] and `gap` apart: first
 * from the left, then pushed back from the right edge. */
function spread(labels, lo, hi, gap) {
    let edge = lo;
    for (const l of labels) {
        l.left = Math.max(edge, l.x - 0.3 * l.w);
        edge = l.left + l.w + gap;
    }
    edge = hi;
    for (const l of [...labels].reverse()) {
        l.left = Math.min(l.left, edge - l.w);
        edge = l.left - gap;
    }
}
