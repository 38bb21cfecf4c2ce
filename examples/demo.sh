#!/bin/sh
# The main job on the example cluster. Usage: sh examples/demo.sh [RECONCILER], from the top of the checkout.
set -eu
reconciler=${1:-reconciler}

show() {
	printf '\n$ reconciler %s\n\n' "$*"
	"$reconciler" "$@"
}

show plan --policy policies --cluster examples/quickstart
show plan --policy policies --cluster examples/quickstart -o markdown
show run --simulate

cat <<END

Three commands to try next:
  $reconciler explain pod batch/giant --policy policies --cluster examples/quickstart
  $reconciler fit --cluster examples/quickstart
  $reconciler validate policies
END
