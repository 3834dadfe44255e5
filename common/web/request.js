/* request.js: sends a prompt, stamps what the browser sees of the answer, and joins that with the
 * server's half of the record.
 *
 * Offers ask(), which takes the three stamps of the browser's clock, and the record routes. Nothing
 * here touches the page: ask() runs in a worker thread (measure.js), the record routes in the page's
 * thread. No interval is computed here: the server computes them, with the functions of `servelab
 * record check`.
 */
import { SseParser, readEvent, errorText } from "./sse.js";

/* The server's last event follows the last byte by microseconds. After a cancel it comes at the end of
 * the engine's step, which takes seconds when a large model reads a long prompt. */
const SETTLE_TRIES = 200, SETTLE_PAUSE_MS = 75;
const pause = () => new Promise((wake) => setTimeout(wake, SETTLE_PAUSE_MS));

/* A short id that can be found again in a log. getRandomValues works without a secure context, such as
 * a lecture over http://192.168...; randomUUID doesn't. */
export function newRequestId() {
    const bytes = crypto.getRandomValues(new Uint8Array(6));
    return `web-${Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("")}`;
}

/* The smallest step of performance.now(), in milliseconds: the resolution of a stamp. */
export function observeClockStepMs() {
    let step = Infinity;
    const begin = performance.now();
    let last = begin;
    for (let seen = 0; seen < 200 && last - begin < 50; ) {
        const now = performance.now();
        if (now === last) continue;
        step = Math.min(step, now - last);
        last = now;
        seen++;
    }
    return step;
}

/* Sends `body` to `route` and reads the answer to its end. `on.submitted(ms)`, `on.first(ms)`
 * and `on.text(text, ms)` are called after their stamps. Never rejects; resolves with the observation
 *   {requestId, httpStatus, submittedMs, firstMs, lastTextMs, endMs, finish, usage, sawDone, cancelled, problem}
 * where a stamp that wasn't taken is null, and problem is null or a sentence for the person.
 *
 * submittedMs: immediately before fetch sends. firstMs: the read that completed the first event
 * with generated content, stamped before it is parsed. endMs: the end of the body of an answer; an
 * error response or a broken connection has none. */
export async function ask({ route, body, headers, requestId, signal, on }) {
    const seen = {
        requestId, httpStatus: null, submittedMs: null, firstMs: null, lastTextMs: null, endMs: null,
        finish: null, usage: null, sawDone: false, cancelled: false, problem: null,
    };
    const init = {
        method: "POST", signal, cache: "no-store", body: JSON.stringify(body),
        headers: { "Content-Type": "application/json", "X-Request-Id": requestId, "X-Attempt": "1", ...headers },
    };
    try {
        seen.submittedMs = performance.now();
        const sent = fetch(route, init);
        on.submitted(seen.submittedMs);
        const response = await sent;
        seen.httpStatus = response.status;
        if (response.ok) await readAnswer(response, seen, on);
        else seen.problem = await refusal(response);
    } catch (e) {
        seen.cancelled = signal.aborted;
        if (!seen.cancelled) seen.problem ??= brokenConnection(seen, e);
    }
    return seen;
}

async function readAnswer(response, seen, on) {
    const reader = response.body.getReader();
    const parser = new SseParser();
    for (;;) {
        const { done, value } = await reader.read();
        const ms = performance.now(); // before any parsing
        if (done) {
            seen.endMs = ms;
            takeEnd(parser.end(), seen);
            return;
        }
        try {
            for (const data of parser.push(value)) takeEvent(readEvent(data), ms, seen, on);
        } catch (e) {
            reader.cancel().catch(() => {}); // the rest of the answer needn't be sent
            throw e;
        }
    }
}

function takeEnd(cut, seen) {
    if (seen.finish || seen.sawDone) return;
    seen.problem ??= `The answer broke off${cut ? " in the middle of a chunk" : ""}: `
        + "the stream ended without a finish reason and without [DONE].";
}

function takeEvent(event, ms, seen, on) {
    if (event.done) seen.sawDone = true;
    const blame = event.inBand ? "The server reported an error inside the answer" : "The answer can't be read";
    if (event.fault) seen.problem ??= `${blame}: ${event.fault}`;
    if (event.finish) seen.finish = event.finish;
    if (event.usage) seen.usage = event.usage;
    if (!event.text) return;
    if (seen.firstMs === null) {
        seen.firstMs = ms;
        on.first(ms);
    }
    seen.lastTextMs = ms;
    on.text(event.text, ms);
}

async function refusal(response) {
    const text = await response.text();
    let said = text.slice(0, 300);
    try {
        said = errorText(JSON.parse(text).error ?? text);
    } catch { /* not JSON: its beginning is shown as it is */ }
    const why = { 400: "The server didn’t understand the request", 404: "The server has no such route",
                  429: "The server is full and refused the request", 503: "The server is shutting down or overloaded" };
    return `${why[response.status] ?? "The server refused the request"} (HTTP ${response.status}): ${said}`;
}

function brokenConnection(seen, e) {
    if (seen.httpStatus === null) return "The server can't be reached. Is `servelab serve` still running?";
    return `The connection broke before the answer was complete (${e.message}).`;
}

/* ---- the record ------------------------------------------------------------------------------------------------ */

/* The browser's events of an observation, in the record's form: integer nanoseconds, all from performance.now(). */
export function browserEvents(seen) {
    const stamps = [["request_submitted", seen.submittedMs], ["first_byte_received", seen.firstMs],
                    ["final_byte_received", seen.endMs]];
    return stamps.filter(([, ms]) => ms !== null).map(([event, ms]) => ({
        event, clock: "browser", t_ns: Math.round(ms * 1e6), source: "browser", clock_api: "performance.now",
    }));
}

const recordUrl = (id) => `/v1/records/${encodeURIComponent(id)}`;

/* Posts the browser's half. Throws with a sentence when the server doesn't take it. A request that
 * ended without a reply may not have reached the server yet, so that its record is awaited first. */
export async function postEvents(seen) {
    for (let i = 0; seen.httpStatus === null && i < SETTLE_TRIES && !await getRecord(seen.requestId); i++)
        await pause();
    const response = await fetch(`${recordUrl(seen.requestId)}/events`, {
        method: "POST", keepalive: true,
        body: JSON.stringify({ events: browserEvents(seen) }),
        headers: { "Content-Type": "application/json", "X-Request-Id": seen.requestId, "X-Attempt": "1" },
    });
    if (!response.ok) throw new Error(await refusal(response));
}

/* The record as it is now: {text, record}; null when the server has none, or none yet (204). */
export async function getRecord(id) {
    const response = await fetch(`${recordUrl(id)}?if_known=1`, { cache: "no-store" });
    if (response.status !== 200) return null;
    const text = await response.text();
    return { text, record: JSON.parse(text) };
}

/* Intervals and classification of the record, computed by the server; null when it has none. */
export async function getIntervals(id) {
    const response = await fetch(`${recordUrl(id)}/intervals`, { cache: "no-store" });
    return response.ok ? response.json() : null;
}

const ENDINGS = ["response_finished", "request_rejected", "request_cancelled", "request_failed"];

const SIX = ["request_submitted", "request_accepted", "request_admitted", "first_token", "first_byte_received",
             "final_byte_received"];

/* The record as lab 01's exercise: provenance, statement and the sources of the six events are "TODO". The
 * same as load_blank in common/load. */
export function blankRecord(record) {
    const events = record.events.map((e) => (SIX.includes(e.event) ? { ...e, source: "TODO" } : e));
    return { ...record, events, provenance: "TODO", statement: "TODO" };
}

/* Waits until the record has the event that ends the request, and returns {text, record, intervals};
 * after SETTLE_TRIES the last known state, or null without a record. */
export async function settledRecord(id) {
    let last = null;
    for (let i = 0; i < SETTLE_TRIES; i++) {
        last = await getRecord(id) ?? last;
        if (last?.record.events.some((e) => ENDINGS.includes(e.event))) break;
        await pause();
    }
    return last && { ...last, intervals: await getIntervals(id) };
}
