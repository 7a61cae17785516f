#!/bin/bash
# A repository of forty commits is gated commit by commit through the action's script, and both regressions are searched by bisection.
#
#     lab/gate_history.sh PLIMSOLL [OPTION...]
#
# Commits 12 and 27 make the program 8 % and 12 % slower, 20 makes it 10 % faster, and 33 reverts 27. The others change comments, documentation,
# unused code and names. Every fifth change alters the program's bytes. Prints each verdict that is wrong, the count of right ones, and the commits that bisection
# ends at.
set -euo pipefail

plimsoll=$(realpath "$1")
options=$(printf '%s\n' "${@:2}")
action=$(realpath "$(dirname "$0")/../packaging/action.sh")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/repository"
ln -s "$plimsoll" "$work/bin/plimsoll"
export PATH=$work/bin:$PATH PLIMSOLL_BUILDS=$work/builds GIT_CONFIG_GLOBAL=/dev/null
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.org GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.org
cd "$work/repository"
git init -q -b main .

# The program after this number of commits, with the code that surrounds it.
program() {
    local variable=x$(($1 / 7)) unused=$(($1 / 5))
    echo "/* Version $1. */"
    echo '#include "amount.h"'
    for ((one = 0; one < unused; one++)); do echo "int unused_$one(int value) { return value * $one; }"; done
    echo "int main(void) { volatile unsigned $variable = 1;"
    echo "for (long i = 0; i < AMOUNT * 3000L; i++) $variable = $variable * 1103515245 + 12345; return $variable == 7; }"
}

amount() { echo "#define AMOUNT $1" >amount.h; }
amount 1000
for commit in {1..40}; do
    case $commit in
        12) amount 1080 ;;
        20) amount 970 ;;
        27) amount 1090 ;;
        33) git revert --no-commit c27 ;;
        *) program "$commit" >bench.c; echo "Notes of version $commit." >>README ;;
    esac
    git add -A
    git commit -q -m "change $commit"
    git tag "c$commit"
done

export BENCH=./bench BUILD='cc -O1 -o bench bench.c' EXPERIMENT='' OPTIONS=$options URL='' SHA256='' COMMENT=false PULL_REQUEST=''
right=0 identical=0
for commit in {2..40}; do
    git checkout -q "c$commit"
    export BASE=c$((commit - 1)) RUNNER_TEMP=$work/runner
    export GITHUB_STEP_SUMMARY=$work/all.md GITHUB_OUTPUT=$work/output GITHUB_PATH=$work/path
    rm -rf "$RUNNER_TEMP" "$GITHUB_OUTPUT"
    mkdir -p "$RUNNER_TEMP"
    "$action" >"$work/log" 2>&1 || cat "$work/log"
    case $commit in
        12 | 27) expected=1 verdict=slower ;;
        20 | 33) expected=0 verdict=faster ;;
        *) expected=0 verdict=same ;;
    esac
    said=$(sed '/^$/,$d' "$RUNNER_TEMP/plimsoll/summary.md")
    ! grep -q "identical programs" <<<"$said" || identical=$((identical + 1))
    if grep -qx "status=$expected" "$GITHUB_OUTPUT" && grep -q " $verdict " "$RUNNER_TEMP/plimsoll/summary.md"; then
        right=$((right + 1))
    else
        echo "c$commit, expected $verdict: $said"
    fi
done
echo "$right of 39 verdicts are right; $identical are of identical programs."
for range in "c11 c19 12" "c20 c32 27"; do
    read -r good bad expected <<<"$range"
    found=$(plimsoll ab "$good" "$bad" --quiet --metric cpu --bisect --build "$BUILD" -- ./bench || true)
    echo "$good..$bad, expected change $expected:$(sed -n 's/^ *after .* change/ change/p' <<<"$found")"
done
