#!/usr/bin/env bash
# test_sim_cli.sh: `servelab sim run` prints the two hand-worked tables and refuses what makes no sense.
set -u
servelab=${SERVELAB:-build/bin/servelab}
count=0
ok() { # ok NAME CONDITION...
    count=$((count + 1))
    local name=$1
    shift
    if "$@"; then echo "ok $count - $name"; else echo "not ok $count - $name"; fi
}
says() { # says STATUS TEXT ARGUMENT...: exit status and a text in its output
    local status=$1 text=$2 out
    shift 2
    out=$("$servelab" sim "$@" 2>&1)
    [ $? = "$status" ] && grep -qF -- "$text" <<<"$out"
}
four=(run --arrivals-ms 0,1,2,3 --setup-ms 4 --per-request-ms 1)
ok "one by one: mean 11 ms" says 0 "mean latency 11 ms" "${four[@]}" --policy single
ok "one by one: 200 requests/s over 20 ms" says 0 "throughput 200.00 requests/s over 20 ms" "${four[@]}" --policy single
ok "all four: mean 9.5 ms" says 0 "mean latency 9.5 ms" "${four[@]}" --policy wait-for-n:4
ok "all four: 363.64 requests/s over 11 ms" says 0 "363.64 requests/s over 11 ms" "${four[@]}" --policy wait-for-n:4
ok "keys of the JSON" says 0 '"latency_ns":	17000000' "${four[@]}" --policy single --json --per-request
ok "equal seeds give equal runs" test \
    "$("$servelab" sim run --arrivals poisson --rate-rps 100 --requests 5000 --seed 3 --json)" = \
    "$("$servelab" sim run --arrivals poisson --rate-rps 100 --requests 5000 --seed 3 --json)"
ok "another seed gives another run" test \
    "$("$servelab" sim run --arrivals poisson --rate-rps 100 --requests 5000 --seed 4 --json)" != \
    "$("$servelab" sim run --arrivals poisson --rate-rps 100 --requests 5000 --seed 3 --json)"
for bad in nan -1 inf 0; do
    ok "a rate of $bad is refused" says 2 "--rate-rps" run --arrivals poisson --rate-rps "$bad" --requests 5
done
ok "no request is refused" says 2 "--requests" run --arrivals poisson --rate-rps 5 --requests 0
ok "an unknown policy gets a suggestion" says 2 "did you mean 'continuous'" "${four[@]}" --policy continous
ok "arrivals out of order are refused" says 2 "sort them" run --arrivals-ms 3,1
ok "arrivals that aren't numbers are refused" says 2 "--arrivals-ms" run --arrivals-ms 1,x
ok "an unknown flag is named" says 2 "--speed" run --speed
for bad in 0x10 " 5" "5 " 1,5 1e400; do
    ok "a rate of '$bad' is refused" says 2 "--rate-rps" run --arrivals poisson --rate-rps "$bad" --requests 5
done
ok "hexadecimal loads of a sweep are refused" says 2 "--rates" sweep --arrivals poisson --rates 0x1,0x2
ok "a count with a blank in front is refused" says 2 "--seed" run --arrivals poisson --rate-rps 1 --requests 5 --seed " 5"
many=(--arrivals poisson --rate-rps 100 --requests 1000000000000)
ok "more requests than memory holds are refused" says 2 "GiB of memory" run "${many[@]}" --rate-rps 1e5
ok "a list of a million requests in one object is refused" says 2 "--records" run --arrivals poisson --rate-rps 100 \
    --requests 1000000 --json --per-request
ok "a precision that isn't modelled is named by its flag" says 2 "--weight-bits: is 5" run --arrivals-ms 0,1 \
    --model llama-2-7b --gpu h100 --weight-bits 5
clean() { ! "$servelab" sim "$@" | grep -v "Little" | grep -qwiE "nan|inf|[0-9.]+e[+-]?[0-9]+"; }
ok "no 'nan' where nothing is complete" clean run --arrivals poisson --rate-rps 5 --requests 30 --fail-rate 1
ok "no exponents in long times" clean run --arrivals-ms 0,900000000 --setup-ms 900000
ok "nor in short ones" clean run --arrivals-ms 0,1 --setup-ms 0.0002 --per-request-ms 0
ok "a rate far below 1 isn't shown as 0" says 0 "throughput 0.00271 requests/s" run --arrivals poisson \
    --rate-rps 0.001 --requests 5
ok "a limit of half a millisecond isn't shown as 0" says 0 " 0.5   ms: below that" "${four[@]}" --ttft-below-ms 0.5
aligned() { # the lines of the table of requests are equally long
    [ "$("$servelab" sim run --arrivals-ms 0,1.25,900000 | sed -n '/^ *request/,/^$/p' | awk 'NF{print length}' | sort -u | wc -l)" = 1 ]
}
ok "the table of requests is aligned" aligned
ok "a run that fails in a sweep is named by policy and load" says 2 "policy continuous at 2 requests/s: " sweep \
    --arrivals poisson --requests 1 --rates 1,2 --jobs 1
ok "a run of more than 146 years is bad input, and says so" says 2 "more than 146 years" run --arrivals poisson \
    --rate-rps 100 --requests 60 --setup-ms 1e6 --per-request-ms 1e6 --output-tokens 100000
ok "also within one answer" says 2 "more than 146 years" run --arrivals-ms 0 --setup-ms 1e6 --per-request-ms 1e6 \
    --output-tokens 20000000
plans=(run --arrivals-ms 0,1,2 --model llama-2-7b --gpu a100 --prompt-tokens 200 --output-tokens 40 --kv-blocks 30 --policy chunked --plans)
ok "--plans shows who runs, with tokens and blocks" says 0 "run     0: prefill 200 tokens, 0 of 200 in the cache, 0 blocks and 13 more" "${plans[@]}"
ok "who decodes, and who waits" says 0 "waits   2: prompt 200, at most 40 more" "${plans[@]}"
same_result() { # seeing the plans changes nothing
    [ "$("$servelab" sim "${plans[@]}" | sed '/^plan /d; /^  \(run\|waits\|pauses\|preempt\|reject\) /d; /policy calls/d')" = \
        "$("$servelab" sim "${plans[@]::${#plans[@]}-1}" | sed '/policy calls/d')" ]
}
ok "the result is that of a run without" same_result
ok "--plans with --json is refused" says 2 "--plans" "${plans[@]}" --json
echo "1..$count"
