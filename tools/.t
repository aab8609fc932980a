#!/usr/bin/env bash
# Installs what the tests need, checks style and imports, builds and runs every test.
# Arguments go to `swift test`, for example: tools/test --filter RTPProcessorTests
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup build test
tools/lint
swift build --ignore-lock --build-tests

# Inside a process one test after the other: some count its descriptors and threads.
run() {
  swift test --skip-build --ignore-lock --no-parallel "${@:2}" 2>&1 | tee "$1"
}

failed=.build/test.failed
rm -f "$failed"
if [ $# -gt 0 ]; then
  logs=(.build/test.log)
  run "${logs[0]}" "$@" || touch "$failed"
else
  # Most tests wait for other programs and for time, so three processes share two cores well. The
  # last one takes whatever no other has.
  groups=(
    'EndToEndTests\.(SRTP|RTSPServer|Correction|Capture)'
    'EndToEndTests'
    'TransportConformanceTests\.(Framed|RTSP)'
    'TransportConformanceTests'
    '(Transports|Misbehaviour|Receiver|Reception)Tests'
    ''
  )
  logs=() taken=()
  for number in "${!groups[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge 3 ]; do wait -n || true; done
    logs+=(".build/test-$number.log")
    group=${groups[$number]}
    run "${logs[-1]}" ${group:+--filter "$group"} "${taken[@]}" || touch "$failed" &
    taken+=(--skip "$group")
  done
  wait
fi
[ -e "$failed" ] || exit 0
# A failure an hour above the end of the output is found by nobody.
printf '\nWhat failed (all of the output: %s):\n' "${logs[*]}"
grep -haE -A 3 '✘|error:|crashed' "${logs[@]}" | cut -c 1-2000 ||
  for log in "${logs[@]}"; do tail -n 20 "$log"; done
exit 1
