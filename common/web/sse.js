/* sse.js: reads a streamed chat answer: bytes -> server-sent events -> what each event says.
 *
 * Offers SseParser (any split of the bytes gives the same events) and readEvent (one event's data
 * in OpenAI's chat or completion shape). Refuses to repair: text that isn't JSON is a fault that
 * the caller shows, never skipped. No clock and no page in here; request.js stamps, app.js shows.
 */

/* A bound, so that a broken server can't fill the memory; no chunk of an answer is as long. */
const MAX_LINE_CHARS = 1 << 20;

/* The event stream format of the HTML standard, section 9.2.6, as far as an answer needs it:
 * lines end in LF, CR or CRLF; a line that starts with a colon is a comment; one space after the
 * colon is dropped; several data lines join with LF; an empty line ends the event. Other fields
 * (event, id, retry) are passed over. */
export class SseParser {
    #decoder = new TextDecoder("utf-8"); // holds back a split character; a bad byte becomes U+FFFD
    #line = "";
    #data = [];
    #afterCr = false; // a LF that follows belongs to the line end already seen

    /* Takes the bytes of one read (any Uint8Array) and returns the data of the events they complete. */
    push(bytes) {
        return this.#feed(this.#decoder.decode(bytes, { stream: true }));
    }

    /* The end of the body. Returns true when it cut an event in two. */
    end() {
        this.#feed(this.#decoder.decode());
        return this.#line !== "" || this.#data.length > 0;
    }

    #feed(text) {
        const events = [];
        let start = 0;
        for (let i = 0; i < text.length; i++) {
            const ch = text[i];
            if (ch === "\n" && this.#afterCr) {
                this.#afterCr = false;
                start = i + 1;
                continue;
            }
            this.#afterCr = ch === "\r";
            if (ch !== "\n" && ch !== "\r") continue;
            this.#endLine(this.#line + text.slice(start, i), events);
            this.#line = "";
            start = i + 1;
        }
        this.#line += text.slice(start);
        if (this.#line.length > MAX_LINE_CHARS) throw new Error("the server sent a line of over a million characters");
        return events;
    }

    #endLine(line, events) {
        if (line === "") {
            if (this.#data.length > 0) events.push(this.#data.join("\n"));
            this.#data = [];
            return;
        }
        const colon = line.indexOf(":");
        const field = colon < 0 ? line : line.slice(0, colon);
        if (field !== "data") return; // a comment has the empty field name
        const value = colon < 0 ? "" : line.slice(colon + 1);
        this.#data.push(value.startsWith(" ") ? value.slice(1) : value);
    }
}

/* What one event says: {done} for the closing [DONE], {fault} for what can't be read or is an error
 * sent inside the stream ({fault, inBand: true}), else {text, finish, usage}. `text` is generated
 * content, and "" for a role-only, empty or usage chunk, which isn't a first token. */
export function readEvent(data) {
    if (data.trim() === "[DONE]") return { done: true };
    let chunk;
    try {
        chunk = JSON.parse(data);
    } catch {
        return { fault: `the server sent something that isn't JSON: ${excerpt(data)}` };
    }
    if (chunk === null || typeof chunk !== "object" || Array.isArray(chunk))
        return { fault: `the server sent JSON that isn't a chunk of an answer: ${excerpt(data)}` };
    if (chunk.error) return { fault: errorText(chunk.error), inBand: true };

    const choice = Array.isArray(chunk.choices) ? chunk.choices[0] : undefined;
    return {
        text: generatedText(choice),
        finish: choice?.finish_reason ?? null,
        usage: chunk.usage ?? null,
    };
}

/* The message of an OpenAI error object, with its field; or a plain string; or the JSON itself. */
export function errorText(error) {
    if (typeof error === "string") return error;
    if (typeof error?.message !== "string") return excerpt(JSON.stringify(error));
    const field = typeof error.param === "string" && !error.message.includes(error.param) ? `${error.param}: ` : "";
    return field + error.message;
}

function generatedText(choice) {
    if (typeof choice?.text === "string") return choice.text; // /v1/completions
    const delta = choice?.delta;
    if (typeof delta?.content === "string" && delta.content !== "") return delta.content;
    const calls = Array.isArray(delta?.tool_calls) ? delta.tool_calls : [];
    return calls.map((c) => (c?.function?.name ?? "") + (c?.function?.arguments ?? "")).join("");
}

function excerpt(text) {
    return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
