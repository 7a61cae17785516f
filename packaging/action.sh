#!/bin/bash
# What the action of action.yml does: two revisions are compared or an experiment is run. The verdicts go to the job's summary and, where that is
# asked for, to the pull request.
#
# What it gets stands in the environment: BASE, BENCH and BUILD (`plimsoll ab`), or EXPERIMENT (`plimsoll run`), OPTIONS (one option a line), URL and SHA256 (both empty: the plimsoll of the path), COMMENT (true or
# false), PULL_REQUEST (its number), and GitHub's own RUNNER_TEMP, GITHUB_STEP_SUMMARY, GITHUB_OUTPUT and GITHUB_PATH. BENCH and BUILD are
# command lines of the workflow; no word of the others is given to a shell.
# It ends with 0 once plimsoll ran: the exit status that is the verdict is the output `status`, for the step that follows the upload of the page.
set -euo pipefail

folder=$RUNNER_TEMP/plimsoll
summary=$folder/summary.md
page=$folder/page.html
mkdir -p "$folder"
rm -f "$page"

if [ -n "$URL" ]; then
    if [ -z "$SHA256" ]; then
        echo "::error::the input url needs the input sha256: what is downloaded is checked before it is started"
        exit 2
    fi
    mkdir -p "$folder/bin"
    curl --fail --silent --show-error --location --retry 3 --output "$folder/bin/part" "$URL"
    if ! echo "$SHA256  $folder/bin/part" | sha256sum --check --strict --quiet; then
        echo "::error::what $URL gave does not have the SHA-256 $SHA256"
        exit 2
    fi
    chmod 755 "$folder/bin/part"
    mv "$folder/bin/part" "$folder/bin/plimsoll"
    echo "$folder/bin" >>"$GITHUB_PATH"
    PATH=$folder/bin:$PATH
fi
if ! plimsoll --version; then
    echo "::error::there is no plimsoll in the path; give the inputs url and sha256, or install it in a step before this one"
    exit 2
fi

names() { git rev-parse --verify --quiet --end-of-options "$1^{commit}" >/dev/null; }
get() { git fetch --quiet --no-tags "$@" 2>/dev/null; }

# Prints the revision to compare with. What a shallow checkout lacks is fetched: a commit, a branch or a tag alone, and all history for what is counted
# from another revision, or for a bisection.
find_base() {
    local name=${BASE#refs/remotes/} alone=() all=()
    name=${name#refs/heads/} name=${name#origin/}
    names "$BASE" && echo "$BASE" && return
    names "origin/$name" && echo "origin/$name" && return
    if [ "$(git rev-parse --is-shallow-repository)" = true ]; then
        alone=(--depth=1) all=(--unshallow)
        ! grep -qx -e --bisect <<<"$OPTIONS" || alone=(--unshallow)
    fi
    get "${alone[@]}" origin "$BASE" && names "$BASE" && echo "$BASE" && return
    get "${alone[@]}" origin "+refs/heads/$name:refs/remotes/origin/$name" && echo "origin/$name" && return
    get "${alone[@]}" origin "+refs/tags/$name:refs/tags/$name" && echo "$name" && return
    get "${all[@]}" origin "+refs/heads/*:refs/remotes/origin/*" "+refs/tags/*:refs/tags/*" || return
    names "$BASE" && echo "$BASE" && return
    names "origin/$name" && echo "origin/$name"
}

arguments=()
while IFS= read -r option; do
    [ -z "$option" ] || arguments+=("$option")
done <<<"$OPTIONS"

status=0
if [ -n "$BENCH" ]; then
    what=$BENCH
    if [ -z "$BASE" ] || [ "${BASE:0:1}" = - ]; then
        echo "::error::the input bench needs the input base: the revision to compare with"
        exit 2
    fi
    if ! base=$(find_base); then
        echo "::error::$BASE is no revision of this checkout, and origin has none of that name: give actions/checkout fetch-depth: 0, or the input base a commit, a branch or a tag"
        exit 2
    fi
    [ -z "$BUILD" ] || arguments+=("--build=$BUILD")
    plimsoll ab "$base" HEAD --format markdown --html "$page" "${arguments[@]}" -- "$BENCH" >"$summary" || status=$?
else
    what=$EXPERIMENT
    plimsoll run --format markdown --html "$page" "${arguments[@]}" -- "$EXPERIMENT" >"$summary" || status=$?
fi
if [ ! -s "$summary" ]; then
    echo "Plimsoll came to no verdict on \`$what\` (exit status $status); the log of the job says why." >"$summary"
fi
cat "$summary" >>"$GITHUB_STEP_SUMMARY"
{
    echo "status=$status"
    echo "summary=$summary"
    [ ! -e "$page" ] || echo "page=$page"
} >>"$GITHUB_OUTPUT"

if [ "$COMMENT" = true ]; then
    if [ -n "$PULL_REQUEST" ]; then
        body=$summary
        if [ -n "$BENCH" ]; then
            body=$folder/comment.md
            sed '/^$/,$d' "$summary" >"$body"
        fi
        # Forks' jobs may not write to the pull request: the verdict is more than its comment.
        gh pr comment "$PULL_REQUEST" --body-file "$body" || echo "::warning::the pull request could not be commented on"
    else
        echo "::notice::there is no pull request to comment on"
    fi
fi
