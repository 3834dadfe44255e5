#!/usr/bin/env bash
# broken_answers.sh LOG SERVER: how many answers of a server broke off or never began, by HAProxy's log (httplog).
#
# HAProxy logs an answer that broke off with the state SD, and one that never began with SH. It logs nothing of a request that
# had no answer yet and whose connection had been used before: it closes the client's connection and leaves it to the client to
# send again. Its count of aborts has some of these, so it can't be used for this.
set -u
[ $# = 2 ] && [ -r "$1" ] || { echo "usage: broken_answers.sh LOG SERVER" >&2; exit 2; }
awk -v server="servers/$2" '$4 == server && $10 ~ /^S[DH]/ && /"POST / { n++ } END { print n + 0 }' "$1"
