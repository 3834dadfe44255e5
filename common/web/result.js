/* result.js: renders a record as parts of the page: cards, verdicts, the sentence.
 *
 * app.js puts the elements in place. Every number comes from the server (GET
 * /v1/records/{id}/intervals); this file adds unit, formula and clock, and computes none.
 */
import { showMs } from "./timeline.js";

export function element(tag, cls, text = "") {
    const node = document.createElement(tag);
    if (cls) node.className = cls;
    node.textContent = text;
    return node;
}

/* first_token -> "first token": the record's names are words. */
export const words = (name) => String(name).replaceAll("_", " ");

const card = (key, cls, title, says, clock, formula) => ({ key, cls, title, says, clock, formula });
const CARDS = [
    card("client_ttft_ns", "wait", "Client TTFT", "when the answer began", "browser",
        "first_byte_received − request_submitted"),
    card("e2e_ns", "whole", "End-to-end", "when it was over", "browser", "final_byte_received − request_submitted"),
    card("server_ttft_ns", "server", "Server TTFT", "until its first token", "server",
        "first_token − request_accepted"),
    card("queue_delay_ns", "server", "Queue delay", "until it was admitted", "server",
        "request_admitted − request_accepted"),
];
/* TPOT has two definitions; the record says which one applied. */
const TPOT_CARDS = {
    token_sent: card("tpot_ns", "server", "TPOT", "per token after the first", "server",
        "(last − first token_sent) / (output_tokens − 1)"),
    browser_bytes: card("tpot_ns", "server", "TPOT", "per token after the first", "browser",
        "(final_byte − first_byte) / (output_tokens − 1)"),
};

/* One card per interval; `intervals` null: nothing is known yet. An absent interval shows "absent". */
export function intervalCards(intervals) {
    const tpot = TPOT_CARDS[intervals?.tpot_boundary] ?? TPOT_CARDS.token_sent;
    return [...CARDS, tpot].map(({ key, cls, title, says, clock, formula }) => {
        const ns = intervals?.[key], known = typeof ns === "number";
        const value = element("dd", "value", known ? showMs(ns / 1e6) : intervals ? "absent" : "–");
        value.dataset.key = key;
        if (known) value.title = `${ns.toLocaleString("en")} ns`;
        const box = element("div", `card ${cls}`);
        box.append(element("dt", "", title), value, element("dd", "says", says), element("dd", "formula", formula),
            element("dd", "clock", `${clock}’s clock`));
        return box;
    });
}

/* What the person experienced, in one sentence with the numbers of the record. */
export function sentenceFor(intervals) {
    const wait = intervals?.client_ttft_ns, whole = intervals?.e2e_ns;
    if (typeof wait !== "number") return "The answer never began: its time to first token is absent, not zero.";
    const began = `The person waited ${showMs(wait / 1e6)} for it to begin (client TTFT)`;
    return typeof whole === "number" ? `${began} and ${showMs(whole / 1e6)} for all of it (end-to-end).`
        : `${began}; it never ended, so there is no end-to-end time.`;
}

/* Completion, quality, structure and usefulness; then the check, and the expected answer. */
export function verdictItems(record, intervals, expected) {
    const { quality, structure } = record, items = [];
    const add = (good, text) => items.push(element("li", good === null ? "neutral" : good ? "good" : "bad", text));
    const judged = { passed: true, failed: false };
    if (intervals) {
        const done = intervals.completion === "completed";
        add(done, done ? "completed" : `${intervals.completion}: ${words(intervals.completion_reason)}`);
    }
    add(judged[quality.verdict] ?? null, `quality ${words(quality.verdict)}`);
    if (structure.check) add(judged[structure.verdict] ?? null, `structure ${words(structure.verdict)}`);
    if (intervals) add(intervals.useful, intervals.useful ? "useful" : "not useful");
    const checks = [...new Set([quality.check, structure.check])].filter(Boolean).join(" and ");
    const whole = expected?.trim() ?? "";
    const short = whole.length > 48 ? `${whole.slice(0, 19)} … ${whole.slice(-4)}` : whole; // a count has 50 numbers
    const wanted = short ? `, expecting “${short}”` : "";
    if (checks) items.push(element("li", "checked", `by ${checks}${wanted}`));
    return items;
}
