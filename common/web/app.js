/* app.js: runs the page: one request at a time, from the prompt box to the record.
 *
 * A worker thread sends and measures the request (measure.js). Meanwhile the page fetches the server's
 * events so far. At the end it posts the browser's events, and fetches and shows the joined record and
 * its intervals. Every number on the page comes from the server (GET /v1/records/{id}/intervals),
 * except the running counters.
 */
import { newRequestId, postEvents, getRecord, settledRecord, blankRecord } from "./request.js";
import { element, intervalCards, sentenceFor, verdictItems, words } from "./result.js";
import { Timeline, domainMs, showMs } from "./timeline.js";

const $ = (id) => document.getElementById(id);
const POLL_MS = 250;   /* how often the server's events are fetched until the first token is known */
const DRAW_MS = 66;    /* a drawing takes about a millisecond; more often wouldn't show more */
const SPEAK_MS = 2500; /* a screen reader gets the text in phrases, not in tokens */

const measurer = new Worker(new URL("measure.js", import.meta.url), { type: "module" });
measurer.onmessage = heard;
measurer.onerror = () => showProblem({ problem: "The measuring thread couldn’t start. Reload the page." });
const timeline = new Timeline($("timeline"));
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let presets = [];
let modelKnown;        /* a promise: the model's name is known */
let run = null;        /* the request on the page, or null before the first */

/* ---- what can be asked ------------------------------------------------------------------------- */

/* For servers that offer no prompts, and for edited ones: the page doesn't know its token count. */
const OWN_TEXT = { name: "own", title: "Own text", prompt: "", prompt_tokens: null, max_tokens: 256 };

async function loadPresets() {
    let offered = [];
    try {
        const response = await fetch("/v1/presets");
        if (response.ok) offered = (await response.json()).presets;
    } catch { /* the first request will say that the server is away */ }
    presets = [...offered, OWN_TEXT];
    $("presets").append(...presets.map(presetChip));
    choose(presets[0]);
}

function presetChip(preset, i) {
    const label = document.createElement("label");
    const radio = document.createElement("input");
    Object.assign(radio, { type: "radio", name: "preset", value: preset.name, checked: i === 0 });
    radio.addEventListener("change", () => choose(preset));
    label.append(radio, preset.title);
    return label;
}

function chosen() {
    const name = document.querySelector("input[name=preset]:checked")?.value;
    return presets.find((p) => p.name === name) ?? OWN_TEXT;
}

function choose(preset) {
    $("prompt").value = preset.prompt;
    $("prompt").scrollTop = $("prompt").scrollHeight; // the question is at the end
    $("max").value = preset.max_tokens ?? 256;
    showSize();
    if (preset === OWN_TEXT && run === null) $("prompt").focus();
}

/* An edited prompt isn't the preset any more: neither its token count nor its check applies. */
function promptEdited() {
    if ($("prompt").value === chosen().prompt) return;
    for (const radio of document.querySelectorAll("input[name=preset]")) radio.checked = radio.value === OWN_TEXT.name;
    showSize();
}

function showSize() {
    const n = chosen().prompt_tokens;
    $("size").textContent = n ? `${n.toLocaleString("en")} prompt tokens` : "the server counts tokens";
}

/* ---- one request --------------------------------------------------------------------------------- */

async function send() {
    if (underWay() || !$("ask").reportValidity()) return;
    const preset = chosen();
    run = {
        preset, id: newRequestId(), pageMs: performance.now(), lastMs: null,
        submittedMs: 0, firstMs: null, ticks: [], server: null, seen: null, settled: null,
    };
    showStart();
    const mine = run;
    await modelKnown; // its name is part of the request
    askServerWhileWaiting(mine);
    mine.seen = await measure(mine);
    mine.lastMs = performance.now();
    showEnd(mine);
    await settle(mine);
    if (mine !== run) return; // the next one was sent meanwhile
    showRecord(mine);
    document.body.dataset.settled = "yes";
}

const underWay = () => run !== null && run.seen === null;

/* Lets the measuring thread send the request; resolves with its observation. */
function measure(mine) {
    return new Promise((done) => {
        mine.done = done;
        measurer.postMessage({ ...requestFor(mine.preset), requestId: mine.id });
    });
}

/* Takes a message of the measuring thread. Its clock has another zero than this thread's, so the
 * running counters use this thread's clock, from the message that the request was sent. */
function heard({ data }) {
    if (data.step !== undefined) showStep(data.step, data.isolated);
    if (data.submitted !== undefined) {
        run.submittedMs = data.submitted;
        run.pageMs = performance.now();
    }
    if (data.first !== undefined) {
        run.firstMs = data.first;
        showStreaming();
    }
    if (data.text !== undefined) {
        run.ticks.push(data.ms);
        showText(data.text);
    }
    if (data.seen) run.done(data.seen);
}

function cancel() {
    if (underWay()) measurer.postMessage({ cancel: true });
}

/* The request. The server judges a preset's answer by the check in X-Quality-Check. */
function requestFor(preset) {
    const common = {
        model: $("model").dataset.id, max_tokens: Number($("max").value), temperature: 0,
        stream: true, stream_options: { include_usage: true },
    };
    const headers = preset.check ? { "X-Quality-Check": preset.name } : {};
    const messages = [{ role: "user", content: $("prompt").value }];
    return { route: "/v1/chat/completions", headers, body: { ...common, messages } };
}

/* Fetches the server's half until the answer begins, so that its events appear as they happen; not
 * later, because a fetch would disturb the stream that is being measured. */
async function askServerWhileWaiting(mine) {
    const look = async () => {
        const found = await getRecord(mine.id).catch(() => null);
        if (found && !mine.settled) mine.server = found.record;
    };
    while (mine.firstMs === null && !mine.seen) {
        await new Promise((wake) => setTimeout(wake, POLL_MS));
        if (!mine.seen) await look(); // what is over is fetched by settle()
    }
    if (!mine.seen) await look(); // with the first token
}

async function settle(mine) {
    try {
        await postEvents(mine.seen);
        mine.settled = await settledRecord(mine.id);
        if (mine.settled) mine.server = mine.settled.record;
    } catch (e) {
        mine.seen.problem ??= `The record couldn’t be joined: ${e.message}`;
    }
}

/* ---- what the page shows ------------------------------------------------------------------------- */

function showStart() {
    document.body.dataset.state = "waiting";
    document.body.dataset.settled = "no";
    $("answer").textContent = $("spoken").textContent = "";
    showProblem({ problem: null });
    $("download").hidden = $("annotate").hidden = true;
    swapButtons("send", "cancel");
    $("verdicts").replaceChildren();
    $("sentence").textContent = "Nothing to read yet: this wait is the time to first token.";
    showIntervals(null);
    const n = run.preset.prompt_tokens, what = n ? `${n.toLocaleString("en")} tokens` : "the prompt";
    $("status").textContent = `Waiting. The server is reading ${what}.`;
    tick();
}

/* Shows the one button instead of the other; the keyboard's focus moves along. */
function swapButtons(from, to) {
    const focused = document.activeElement === $(from);
    $(from).hidden = true;
    $(to).hidden = false;
    if (focused) $(to).focus();
}

function showStreaming() {
    document.body.dataset.state = "streaming";
    $("status").textContent = "The answer is arriving.";
    $("sentence").textContent = "The answer has begun: time to first token is known, end-to-end time still runs.";
}

let unspoken = "", lastSpokenMs = 0;
function showText(text) {
    const box = $("answer");
    const following = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    box.append(text);
    if (following) box.scrollTop = box.scrollHeight;
    unspoken += text;
    if (performance.now() - lastSpokenMs > SPEAK_MS || /[.!?\n]\s*$/.test(text)) speak();
}
function speak() {
    if (unspoken.trim()) $("spoken").append(Object.assign(document.createElement("p"), { textContent: unspoken }));
    unspoken = "";
    lastSpokenMs = performance.now();
}

function showEnd(mine) {
    speak();
    swapButtons("cancel", "send");
    const { seen } = mine;
    document.body.dataset.state = seen.cancelled ? "cancelled" : seen.problem ? "failed" : "finished";
    $("status").textContent = seen.cancelled ? "Cancelled." : seen.problem ? "" : "The answer is complete.";
    $("sentence").textContent = "Fetching the record.";
    showProblem(seen);
    draw();
}

function showProblem(seen) {
    $("problem").hidden = !seen.problem;
    $("status").hidden = Boolean(seen.problem);
    $("problem").textContent = seen.problem ?? "";
}

function showIntervals(intervals) {
    $("intervals").replaceChildren(...intervalCards(intervals));
}

function showRecord(mine) {
    const { settled, seen } = mine;
    showProblem(seen);
    if (!settled) {
        $("sentence").textContent = "The server has no record of this request.";
        return draw();
    }
    const { intervals, record, text } = settled;
    showIntervals(intervals);
    $("sentence").textContent = sentenceFor(intervals);
    const { prompt_tokens: asked, cached_prompt_tokens: cached } = record.workload;
    if (cached > 0) // these needed no computing, so the wait is shorter
        $("size").textContent = `${asked.toLocaleString("en")} prompt tokens, ${cached.toLocaleString("en")} cached`;
    $("verdicts").replaceChildren(...verdictItems(record, intervals, mine.preset.expected));
    offer("download", text, `record-${mine.id}.json`); // the bytes of GET
    offer("annotate", `${JSON.stringify(blankRecord(record), null, 2)}\n`, "record.json");
    draw();
}

function offer(id, text, name) {
    const link = $(id);
    URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = name;
    link.hidden = false;
}

/* ---- the timeline ---------------------------------------------------------------------------------- */

function draw() {
    const idle = { domainMs: 1000, submitted: false, server: [], sentMs: [] };
    if (!run) return timeline.draw(idle);
    const wholeNs = (ms) => Math.round(ms * 1e6); // as in the record
    const since = (ms) => (wholeNs(ms) - wholeNs(run.submittedMs)) / 1e6;
    const ended = run.seen?.endMs != null;
    const elapsedMs = ended ? since(run.seen.endMs) : (run.lastMs ?? performance.now()) - run.pageMs;
    const firstMs = run.firstMs === null ? null : since(run.firstMs);
    const { server, sentMs } = serverEvents(run.server);
    const serverSpan = server.length ? server[server.length - 1].ms : 0;
    const known = run.settled?.intervals;
    timeline.draw({
        domainMs: domainMs(Math.max(elapsedMs, serverSpan), run.seen !== null),
        submitted: true, elapsedMs, firstMs, ended, over: run.seen !== null, server, sentMs,
        ticksMs: run.ticks.map(since),
        labels: {
            wait: barNumber(known?.client_ttft_ns, firstMs, elapsedMs),
            whole: barNumber(known?.e2e_ns, null, elapsedMs),
        },
    });
    $("elapsed").textContent = `${(elapsedMs / 1000).toFixed(run.seen ? 2 : 1)} s`;
    listEvents(server, firstMs, ended ? elapsedMs : null);
}



/* The number on a bar: the record's; until it is there a stamp that is final, or a running count. */
function barNumber(ns, finalMs, runningMs) {
    if (typeof ns === "number") return showMs(ns / 1e6);
    if (finalMs !== null) return showMs(finalMs);
    return run.seen ? "" : `${(runningMs / 1000).toFixed(1)} s …`;
}

/* The server's events on the server's own clock, from request_accepted. token_sent become ticks. */
function serverEvents(record) {
    const mine = (record?.events ?? []).filter((e) => e.clock === "server").sort((a, b) => a.t_ns - b.t_ns);
    const zero = mine.find((e) => e.event === "request_accepted")?.t_ns;
    if (zero === undefined) return { server: [], sentMs: [] };
    const all = mine.map((e) => ({ name: words(e.event), ms: (e.t_ns - zero) / 1e6 }));
    return {
        server: all.filter((e) => e.name !== "token sent" && e.name !== "tokenization finished"),
        sentMs: all.filter((e) => e.name === "token sent").map((e) => e.ms),
    };
}

/* The same events for a screen reader, and for a test. */
function listEvents(server, firstMs, endMs) {
    const browser = [["request submitted", 0], ["first byte received", firstMs], ["final byte received", endMs]]
        .filter(([, ms]) => ms !== null).map(([name, ms]) => `browser’s clock: ${name} at ${showMs(ms)}`);
    const lines = [...browser, ...server.map((e) => `server’s clock: ${e.name} at ${showMs(e.ms)}`)];
    if ($("events").children.length === lines.length && run.seen === null) return;
    $("events").replaceChildren(...lines.map((line) => element("li", "", line)));
}

let lastDrawnMs = 0;
function tick() {
    if (!run || run.seen) return;
    const now = performance.now();
    if (now - lastDrawnMs >= (calm.matches ? 500 : DRAW_MS)) {
        lastDrawnMs = now;
        draw();
    }
    requestAnimationFrame(tick);
}

/* ---- the start --------------------------------------------------------------------------------------- */

async function showModel() {
    try {
        const { data } = await (await fetch("/v1/models")).json();
        $("model").textContent = $("model").dataset.id = data[0].id;
        if (!data[0].paced) return;
        $("paced").textContent = `paced: ${data[0].paced}, simulated`;
        $("paced").hidden = false;
    } catch {
        $("model").textContent = "unknown";
    }
}

function showStep(stepMs, isolated) {
    $("step").textContent = stepMs >= 1 ? `${stepMs.toFixed(1)} ms` : `${Math.round(stepMs * 1000)} µs`;
    $("step").title = isolated ? "the page is isolated, so the browser gives its finest clock"
        : "without a secure context and the COOP and COEP headers, the browser coarsens its clock";
}

function setTheme(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
}

function start() {
    setTheme(new URLSearchParams(location.search).get("theme"));
    $("theme").addEventListener("click", () => {
        const wished = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
        setTheme((document.documentElement.dataset.theme ?? wished) === "dark" ? "light" : "dark");
    });
    $("ask").addEventListener("submit", (e) => { e.preventDefault(); send(); });
    $("prompt").addEventListener("input", promptEdited);
    $("cancel").addEventListener("click", cancel);
    document.addEventListener("keydown", (e) => {
        if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); send(); }
        if (e.key === "Escape") cancel();
    });
    new ResizeObserver(draw).observe($("timeline").parentElement);
    showIntervals(null);
    modelKnown = showModel();
    loadPresets();
    document.body.dataset.state = "idle";
}

start();
