# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared between the files
# The recipes of docs/scale.md: engines that spread a list over workers, against a server of many
# ports that notes when each was asked.

pages=3
scale=$here/../../docs/scale.md
# recipe HEADING: the code below it.
recipe() {
    awk -v heading="### $1" '/^#/ { on = $0 == heading } on && /^    / { print substr($0, 5) }' \
        "$scale"
}

# results FILE…: what records say of their URLs.
results() {
    jq -r 'select(.type == "response" or .type == "error")
        | [.url, .outcome, .body.sha256] | @tsv' "$@" | sort
}

# are_all FILE…: the records are those of one process.
are_all() {
    results "$@" >"$work/seen"
    cmp -s "$work/seen" "$work/wanted" \
        || problem "the records are those of one process, but $(diff "$work/wanted" "$work/seen" \
            | head -n 4)"
}

# Every host is asked once in a second; of that, a busy machine may take up half.
keeps_pace() {
    ! has_ended "$paced" || problem "the server has ended: $(tail -n 3 "$work/paced.out")"
    "$here/paced-server.py" --check "$work/paced.log" 0.5 >"$work/pace" \
        || problem "the pace: $(cat "$work/pace")"
}

# begin NAME: a check with a directory of its own.
begin() {
    check "workers: $1"
    mkdir "$work/place"
    cd "$work/place" || exit 2
    cp "$work/urls.txt" .
    : >"$work/paced.log"
}

end() {
    keeps_pace
    cd "$work" || exit 2
    rm -rf "$work/place"
}

# run_recipe COMMAND…: runs it, into $out and $err.
run_recipe() {
    command=("$@")
    status=0
    PATH=$(dirname "$smallweb"):$PATH patiently "$@" >"$out" 2>"$err" </dev/null || status=$?
}

workers_checks() {
    local part arguments
    start "$work/paced.out" "$here/paced-server.py" 40 "$work/paced.log"
    paced=$server
    check "workers: the server of many ports"
    until_true grep -qx ready "$work/paced.out" || return
    for part in $(seq "$pages"); do
        sed -n "s|^[0-9]*$|gopher://127.0.0.1:&/0/$part|p" "$work/paced.out"
    done >"$work/urls.txt"
    # What is no URL is part 0's, and no failure of the run.
    echo 'not a url' >>"$work/urls.txt"
    sw get -s --json -j 64 --per-host 8 @"$work/urls.txt"
    status_is 3
    results "$out" >"$work/wanted"
    [ "$(wc -l <"$work/wanted")" -eq $((40 * pages + 1)) ] || problem "a record for each line"

    check "workers: the hash of docs/scale.md"
    {
        recipe "The hash"
        printf 'import sys\nfor line in sys.stdin:\n    part, place, _ = line.split("\\t")\n'
        printf '    assert int(part) == (shard(place, 1000) if place else 0), line\n'
    } >"$work/hash.py"
    "$smallweb" shard --authority 1000 "$work/urls.txt" >"$out"
    [ "$(wc -l <"$out")" -eq $((40 * pages + 1)) ] || problem "a line for each line"
    must python3 "$work/hash.py" <"$out"

    begin "xargs"
    recipe xargs >recipe.sh
    run_recipe bash recipe.sh
    status_is 0
    are_all records.jsonl
    # Bad lines have no URL that a ledger could know, but the ledger has what was written.
    are_all done.jsonl
    end

    begin "HTCondor's job, without HTCondor"
    arguments=$(recipe HTCondor | sed -n 's/^arguments = //p')
    [ "$(recipe HTCondor | sed -n 's/^queue //p')" -eq 10 ] || problem "ten jobs"
    for part in $(seq 0 9); do
        echo "smallweb ${arguments//\$(Process)/$part} > part$part.out || echo \$? > failed &"
    done >recipe.sh
    echo 'wait; ! test -e failed' >>recipe.sh
    run_recipe bash recipe.sh
    status_is 0
    are_all part*.out
    end

    begin "Slurm's job, without Slurm"
    recipe Slurm >job
    for part in $(seq 0 9); do
        echo "SLURM_ARRAY_TASK_ID=$part SLURM_ARRAY_TASK_COUNT=10 sh job || echo \$? > failed &"
    done >recipe.sh
    echo 'wait; ! test -e failed' >>recipe.sh
    run_recipe bash recipe.sh
    status_is 0
    are_all part*.out
    end
}

parallel_checks() {
    begin "GNU parallel"
    recipe "GNU parallel" >recipe.sh
    run_recipe bash recipe.sh
    status_is 0
    are_all records.jsonl
    end
}

spark_checks() {
    begin "Spark"
    recipe Spark >recipe.py
    run_recipe env PYSPARK_PYTHON="$SPARK" PYSPARK_SUBMIT_ARGS='--master local[2] pyspark-shell' \
        SPARK_LOCAL_IP=127.0.0.1 "$SPARK" recipe.py
    status_is 0
    are_all records/part-*
    end
}

# With a million lines and all engines it is `make crawl`.
crawl_checks() {
    check "workers: 30,000 lines of 10,000 hosts, and a worker that is killed"
    command=(crawl.py)
    unshare -r -n "$here/crawl.py" "$smallweb" --lines 30000 >"$out" 2>"$err" \
        || problem "each way holds"
}

SPARK=${SPARK:-$here/../../.build/spark/bin/python}
if section jq python3; then
    workers_checks
    if section parallel; then parallel_checks; fi
    if ! [ -x "$SPARK" ] || ! "$SPARK" -c 'import pyspark' 2>/dev/null; then
        missing "pyspark, in .build/spark: CI=true .ci/deps all installs 500 MB"
    elif section java; then
        spark_checks
    fi
fi
if section python3 unshare ip; then
    if unshare -r -n true 2>/dev/null; then
        crawl_checks
    else
        skip "a crawl needs a network namespace"
    fi
fi
