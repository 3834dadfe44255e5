/* text_lines.h: makes text that tokenizers often get wrong, the same on every machine.
 *
 * Line i of a seed: source code, prose with contractions, emoji (joined by ZWJ, flags, skin tones),
 * CJK, combining marks, right-to-left scripts, runs of blanks of every kind, digits of every kind,
 * control characters, long words, special tokens' texts, ill-formed UTF-8, and mixtures. Characters
 * come from ranges that have been fully assigned since Unicode 10, so that a newer Unicode in one
 * of the libraries changes nothing. A line may hold line feeds and NULs. All choices are integers
 * of base/rng.h.
 */
#ifndef SERVELAB_MODEL_TESTS_TEXT_LINES_H
#define SERVELAB_MODEL_TESTS_TEXT_LINES_H

#include "base/err.h"
#include "base/rng.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

enum { TEXT_LINE_MAX = 8192, TEXT_LINES = 12000, TEXT_LINES_SEED = 20240229 };

struct text_line {
    char s[TEXT_LINE_MAX];
    size_t n;
    struct rng r;
};

static inline void tl_bytes(struct text_line *l, const char *s, size_t n) {
    if (l->n + n > TEXT_LINE_MAX) return;
    memcpy(l->s + l->n, s, n);
    l->n += n;
}
static inline void tl_cp(struct text_line *l, uint32_t cp) {
    char out[4];
    tl_bytes(l, out, utf8_encode(cp, out));
}
static inline uint32_t tl_below(struct text_line *l, uint32_t n) {
    return (uint32_t)rng_below(&l->r, n);
}
#define TL_PICK(L, LIST) tl_pick(L, LIST, sizeof(LIST) / sizeof *(LIST))
static inline void tl_pick(struct text_line *l, const char *const *list, size_t n) {
    const char *s = list[tl_below(l, (uint32_t)n)];
    tl_bytes(l, s, strlen(s));
}

/* A character of one of the ranges. */
struct tl_range {
    uint32_t lo, hi;
};
#define TL_FROM(L, RANGES) tl_from(L, RANGES, sizeof(RANGES) / sizeof *(RANGES))
static inline void tl_from(struct text_line *l, const struct tl_range *ranges, size_t n) {
    struct tl_range r = ranges[tl_below(l, (uint32_t)n)];
    tl_cp(l, r.lo + tl_below(l, r.hi - r.lo + 1));
}

/* ---- one kind of text each ------------------------------------------------------------------- */

static inline void tl_code(struct text_line *l) {
    static const char *const parts[] = {"for",
                                        "while",
                                        "return",
                                        "if",
                                        "else",
                                        "def ",
                                        "class ",
                                        "static ",
                                        "const char *",
                                        "int",
                                        "self.",
                                        "np.array",
                                        "i",
                                        "j",
                                        "x1",
                                        "tmp_2",
                                        "camelCase",
                                        "SCREAMING_CASE",
                                        "snake_case",
                                        " = ",
                                        " == ",
                                        "!=",
                                        "->",
                                        "=>",
                                        "::",
                                        "++",
                                        "--",
                                        "<<=",
                                        "&&",
                                        "||",
                                        "...",
                                        "(",
                                        ")",
                                        "()",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        "{\n",
                                        "}\n",
                                        ";\n",
                                        ";",
                                        ", ",
                                        ":",
                                        ".",
                                        "\"str\\n\"",
                                        "'c'",
                                        "`x`",
                                        "/* c */",
                                        "// note\n",
                                        "# include <stdio.h>\n",
                                        "@decorator\n",
                                        "0x1F",
                                        "3.14e-10",
                                        "1_000",
                                        "42",
                                        "0b101",
                                        "\n    ",
                                        "\n        ",
                                        "\n\t",
                                        "\n\t\t",
                                        "  ",
                                        " ",
                                        " ",
                                        " ",
                                        "$var",
                                        "%s",
                                        "\\u00e9",
                                        "<div class=\"a\">",
                                        "</div>",
                                        "&amp;",
                                        "https://example.org/a?b=c&d=1",
                                        "a@b.co",
                                        "SELECT * FROM t",
                                        "lambda x: x**2"};
    for (uint32_t k = 4 + tl_below(l, 30); k > 0; k--) TL_PICK(l, parts);
}

static inline void tl_prose(struct text_line *l) {
    static const char *const parts[] = {"the",
                                        "The",
                                        "quick",
                                        "brown",
                                        "fox",
                                        "I",
                                        "I'm",
                                        "don't",
                                        "he'll",
                                        "they'd",
                                        "We've",
                                        "you're",
                                        "it's",
                                        "IT'S",
                                        "We'Ve",
                                        "a'lL",
                                        "'tis",
                                        "o'clock",
                                        "rock'n'roll",
                                        "'s",
                                        "''",
                                        "Mr.",
                                        "naïve",
                                        "café",
                                        "Zürich",
                                        "Straße",
                                        "ſ",
                                        "'ſ",
                                        "résumé",
                                        "Ελλάδα",
                                        "Москва",
                                        "Đặng",
                                        "Łódź",
                                        "İstanbul",
                                        "ﬁn",
                                        "mother-in-law",
                                        "antidisestablishmentarianism",
                                        "x",
                                        "A",
                                        "U.S.A.",
                                        "e.g.",
                                        "3rd",
                                        "No.",
                                        "100%",
                                        "$5",
                                        "(see",
                                        "below)"};
    static const char *const gaps[] = {" ",  " ",  " ",   " ", " ",  ", ", ". ", "! ",
                                       "? ", "; ", " — ", "…", "  ", "\n", " “", "” "};
    for (uint32_t k = 3 + tl_below(l, 20); k > 0; k--) {
        TL_PICK(l, parts);
        TL_PICK(l, gaps);
    }
}

static inline void tl_emoji(struct text_line *l) {
    static const char *const parts[] = {"😀",
                                        "🦙",
                                        "🚀",
                                        "❤️",
                                        "✅",
                                        "☃",
                                        "👍🏽",
                                        "👩‍💻",
                                        "👨‍👩‍👧‍👦",
                                        "🏳️‍🌈",
                                        "😶‍🌫️",
                                        "🇩🇪",
                                        "🇯🇵🇧🇷",
                                        "🇺",
                                        "1️⃣",
                                        "#️⃣",
                                        "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
                                        "\u200d",
                                        "\ufe0f",
                                        "🏿",
                                        " ",
                                        " ",
                                        "a",
                                        ":)",
                                        "☕️",
                                        "♂️",
                                        "©",
                                        "™",
                                        "🧑🏻‍🤝‍🧑🏿"};
    static const struct tl_range ranges[] = {{0x1f300, 0x1f320}, {0x1f600, 0x1f64f},
                                             {0x1f680, 0x1f6c5}, {0x2600, 0x26ff},
                                             {0x2701, 0x27be},   {0x1f1e6, 0x1f1ff}};
    for (uint32_t k = 2 + tl_below(l, 16); k > 0; k--)
        if (tl_below(l, 4) == 0)
            TL_FROM(l, ranges);
        else
            TL_PICK(l, parts);
}

static inline void tl_cjk(struct text_line *l) {
    static const struct tl_range ranges[] = {
        {0x4e00, 0x9fa5}, {0x4e00, 0x4eff}, {0x3041, 0x3096}, {0x30a1, 0x30fa},
        {0xac00, 0xd7a3}, {0xff01, 0xff5e}, {0x3001, 0x3011}, {0x20000, 0x2a6d6},
        {0xf900, 0xfa2d}, {0x1100, 0x1159}, {0xff10, 0xff19}, {0x3105, 0x3129}};
    static const char *const parts[] = {"我想在apple工作",
                                        "1314151天～",
                                        "東京タワー",
                                        "한국어 텍스트",
                                        "。",
                                        "、",
                                        "「",
                                        "」",
                                        "的",
                                        " ",
                                        "　"};
    for (uint32_t k = 2 + tl_below(l, 24); k > 0; k--)
        if (tl_below(l, 3) == 0)
            TL_PICK(l, parts);
        else
            TL_FROM(l, ranges);
}

static inline void tl_combining(struct text_line *l) {
    static const struct tl_range bases[] = {
        {'a', 'z'},     {'A', 'Z'},     {0x905, 0x939}, {0xe01, 0xe2e}, {0x1780, 0x17a2},
        {0x5d0, 0x5ea}, {0x627, 0x64a}, {0x391, 0x3a1}, {0x430, 0x44f}, {' ', ' '}};
    static const struct tl_range marks[] = {{0x300, 0x36f},   {0x93e, 0x94d},  {0xe34, 0xe3a},
                                            {0x17b6, 0x17d3}, {0x5b0, 0x5bd},  {0x64b, 0x652},
                                            {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}};
    for (uint32_t k = 2 + tl_below(l, 16); k > 0; k--) {
        TL_FROM(l, bases);
        for (uint32_t m = tl_below(l, 4); m > 0; m--) TL_FROM(l, marks);
        if (tl_below(l, 40) == 0)
            for (uint32_t m = 30; m > 0; m--) tl_cp(l, 0x300 + tl_below(l, 0x70));
    }
}

static inline void tl_rtl(struct text_line *l) {
    static const char *const parts[] = {"مرحبا",  " بالعالم", "שלום",   " עולם",       "١٢٣",
                                        "\u200f", "\u202e",   "\u2067", "\u2069",      "،",
                                        "؟",      "״",        " ",      " ",           "(",
                                        ")",      "abc",      "ﷺ",      "\u0640\u0640"};
    static const struct tl_range ranges[] = {
        {0x620, 0x64a}, {0x671, 0x6d3}, {0x5d0, 0x5ea}, {0x660, 0x669}, {0x710, 0x72f}};
    for (uint32_t k = 2 + tl_below(l, 20); k > 0; k--)
        if (tl_below(l, 2))
            TL_PICK(l, parts);
        else
            TL_FROM(l, ranges);
}

static inline void tl_blanks(struct text_line *l) {
    static const uint32_t blanks[] = {' ',    ' ',    ' ',    ' ',    '\t',   '\n',
                                      '\r',   0xb,    0xc,    0x85,   0xa0,   0x1680,
                                      0x2000, 0x2003, 0x200a, 0x2028, 0x2029, 0x202f,
                                      0x205f, 0x3000, 0x180e, 0x200b, 0xfeff, 0x1f};
    static const char *const parts[] = {"a", "b", "1", "'s", ".", "x y", "\r\n", "é", "🙂", "="};
    for (uint32_t k = 1 + tl_below(l, 8); k > 0; k--) {
        uint32_t same = blanks[tl_below(l, sizeof blanks / sizeof *blanks)],
                 n = 1 + tl_below(l, 12);
        for (; n > 0; n--)
            tl_cp(l, tl_below(l, 3) ? same : blanks[tl_below(l, sizeof blanks / sizeof *blanks)]);
        if (tl_below(l, 3)) TL_PICK(l, parts);
    }
}

static inline void tl_digits(struct text_line *l) {
    static const struct tl_range ranges[] = {{'0', '9'},         {'0', '9'},       {'0', '9'},
                                             {0x660, 0x669},     {0x966, 0x96f},   {0xe50, 0xe59},
                                             {0x2150, 0x2188},   {0x2460, 0x249b}, {0xff10, 0xff19},
                                             {0x1d7ce, 0x1d7ff}, {0xb2, 0xb3},     {0xbc, 0xbe}};
    static const char *const gaps[] = {"",  "",  "",   " ", "  ", ".", ",", "-",
                                       "e", "x", "\n", "'", "$",  "½", " a"};
    for (uint32_t k = 1 + tl_below(l, 8); k > 0; k--) {
        for (uint32_t n = 1 + tl_below(l, 9); n > 0; n--) TL_FROM(l, ranges);
        TL_PICK(l, gaps);
    }
}

static inline void tl_controls(struct text_line *l) {
    static const struct tl_range ranges[] = {
        {0, 0x1f},        {0, 0x1f},          {0x7f, 0x9f},
        {0xfdd0, 0xfdef}, {0xfffc, 0xffff},   {0xe000, 0xe010},
        {0x200b, 0x200f}, {0xe0020, 0xe007e}, {0x10fffe, 0x10ffff},
        {0xad, 0xad},     {'a', 'c'},         {' ', ' '}};
    for (uint32_t k = 2 + tl_below(l, 20); k > 0; k--) TL_FROM(l, ranges);
}

static inline void tl_long_word(struct text_line *l) {
    static const char *const units[] = {"a",    "ab",  "=", "-",     " ",  "\n", "é", "哈",
                                        "🙂", "xyz", "0", "Lorem", "\t", "̀",   "aA"};
    const char *unit = units[tl_below(l, sizeof units / sizeof *units)];
    for (uint32_t k = 20 + tl_below(l, 150); k > 0; k--) {
        tl_bytes(l, unit, strlen(unit));
        if (tl_below(l, 60) == 0) TL_PICK(l, units);
    }
}

static inline void tl_scripts(struct text_line *l) {
    static const struct tl_range ranges[] = {
        {0x20, 0x7e},       {0xa1, 0xff},     {0x100, 0x17f},     {0x180, 0x24f},
        {0x250, 0x2af},     {0x3a3, 0x3ff},   {0x400, 0x481},     {0x48a, 0x52f},
        {0x531, 0x556},     {0x561, 0x586},   {0x10a0, 0x10c5},   {0x10d0, 0x10f0},
        {0x1e00, 0x1eff},   {0x2010, 0x2027}, {0x2030, 0x205e},   {0x20a0, 0x20b9},
        {0x2190, 0x21ff},   {0x2200, 0x22ff}, {0x2500, 0x25ff},   {0x13a0, 0x13f4},
        {0x2c00, 0x2c2e},   {0x2d00, 0x2d25}, {0x1d400, 0x1d454}, {0x10000, 0x1000b},
        {0x10400, 0x1044f}, {0x1f5f, 0x1f7d}, {0x1fd0, 0x1fd3},   {0x2126, 0x212d},
        {0xfb00, 0xfb06}};
    struct tl_range r = {0, 0};
    for (uint32_t k = 4 + tl_below(l, 30); k > 0; k--) {
        if (r.hi == 0 || tl_below(l, 4) == 0)
            r = ranges[tl_below(l, sizeof ranges / sizeof *ranges)];
        tl_cp(l, r.lo + tl_below(l, r.hi - r.lo + 1));
        if (tl_below(l, 6) == 0) tl_cp(l, ' ');
    }
}

static inline void tl_markers(struct text_line *l) {
    static const char *const parts[] = {"<|endoftext|>",
                                        "<|im_start|>",
                                        "<|im_end|>",
                                        "<|im_",
                                        "<|im_start",
                                        "|>",
                                        "<repo_name>",
                                        "<file_sep>",
                                        "<filename>",
                                        "<fim_prefix>",
                                        "<|eot_id|>",
                                        "<<|im_end|>>",
                                        " user\n",
                                        "assistant\n",
                                        " ",
                                        "\n",
                                        "text",
                                        "<jupyter_text>",
                                        "<",
                                        ">",
                                        "<NAME>"};
    for (uint32_t k = 2 + tl_below(l, 10); k > 0; k--) TL_PICK(l, parts);
}

/* ---- ill-formed UTF-8 ------------------------------------------------------------------------ */

/* Lone continuation and lead bytes, overlong forms, surrogates, code points beyond U+10FFFF,
 * characters that lack their last bytes. */
static inline void tl_ill_formed(struct text_line *l) {
    static const char *const parts[] = {"\x80",
                                        "\xbf\xbf",
                                        "\xc0\x80",
                                        "\xc1\xbf",
                                        "\xc3",
                                        "\xe2\x82",
                                        "\xe0\x80\x80",
                                        "\xe0\x9f\xbf",
                                        "\xed\xa0\x80",
                                        "\xed\xbf\xbf",
                                        "\xf0\x9f\x98",
                                        "\xf0\x80\x80\x80",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xff",
                                        "\xfe\xfe",
                                        "\xf0\x9f",
                                        "a",
                                        " b",
                                        "é",
                                        "🙂",
                                        " ",
                                        "1",
                                        "\n",
                                        "'s"};
    for (uint32_t k = 2 + tl_below(l, 12); k > 0; k--)
        if (tl_below(l, 4) == 0) {
            char any = (char)tl_below(l, 256);
            tl_bytes(l, &any, 1);
        } else {
            TL_PICK(l, parts);
        }
}

/* ---- the lines ------------------------------------------------------------------------------- */

typedef void (*tl_kind)(struct text_line *);
static const tl_kind tl_kinds[] = {tl_code,    tl_prose,   tl_emoji,     tl_cjk,      tl_combining,
                                   tl_rtl,     tl_blanks,  tl_digits,    tl_controls, tl_long_word,
                                   tl_scripts, tl_markers, tl_ill_formed};
enum { TL_KINDS = sizeof tl_kinds / sizeof *tl_kinds };

/* Makes line `index` (0-based) of `seed` in *l. Every fourth line mixes two to four kinds. */
static inline void text_line_make(struct text_line *l, uint64_t seed, uint64_t index) {
    rng_seed(&l->r, seed + index * UINT64_C(0x100000001));
    l->n = 0;
    uint32_t parts = index % 4 == 3 ? 2 + tl_below(l, 3) : 1;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t kind = parts == 1 ? (uint32_t)(index % TL_KINDS) : tl_below(l, TL_KINDS);
        tl_kinds[kind](l);
    }
}

#endif
