#!/bin/sh
# A pull request without a server: a throw-away repository with a history, a branch that changes policies, the preview as
# text, as the comment and as a page; then the plan is saved, the branch merged, and the plan applied on the simulated cluster.
# Usage: sh examples/preview/demo.sh [RECONCILER [REPORT]], from the top of the checkout. The page stays (by default in the
# temporary directory of the machine); nothing else is left, and no configuration of yours is read by the git commands here.
set -eu
reconciler=${1:-reconciler}
case $reconciler in */*) reconciler=$(cd "$(dirname "$reconciler")" && pwd)/$(basename "$reconciler") ;; esac
report=${2:-${TMPDIR:-/tmp}/reconciler-preview.html}
case $report in /*) ;; *) report=$PWD/$report ;; esac
cluster=$PWD/examples/quickstart
repository=$(mktemp -d)
trap 'rm -rf "$repository"' EXIT INT TERM

export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
# Commits of one content at one time have one id, so that the demo prints the same bytes every time.
commit() {
	export GIT_AUTHOR_DATE="2026-11-20T$1:00Z" GIT_COMMITTER_DATE="2026-11-20T$1:00Z"
	git -C "$repository" add --all
	git -C "$repository" commit --quiet --message "$2"
}
# edit FILE SED-EXPRESSION
edit() {
	sed "$2" "$repository/policies/$1" >"$repository/.edited"
	mv "$repository/.edited" "$repository/policies/$1"
}

git init --quiet --initial-branch=main "$repository"
mkdir "$repository/policies"
cp policies/*.yaml "$repository/policies"
edit on-demand.yaml 's/size: {min: 2, max: 10}/size: {min: 2, max: 6}/'
commit 09:00 "Node groups of prod"
edit on-demand.yaml 's/size: {min: 2, max: 6}/size: {min: 2, max: 10}/'
commit 10:00 "auto: room for ten nodes"

# The change under review: a range, a threshold of a tier, and no more taking over from kubectl.
git -C "$repository" switch --quiet --create smaller-auto
edit on-demand.yaml 's/size: {min: 2, max: 10}/size: {min: 2, max: 7}/'
commit 11:00 "auto: at most seven nodes"
edit prod.yaml 's/^  adoptFrom: \[kubectl\]/  adoptFrom: []/'
edit prod.yaml 's/^    - name: on-demand$/    - {name: on-demand, defaults: {scaleDown: {utilizationThresholdPercent: 80}}}/'
commit 11:30 "Adopt nothing; on-demand nodes may go when they are 80% used"

# Meanwhile main went on. What happened there is not part of the change, and the preview does not show it.
git -C "$repository" switch --quiet main
edit spot.yaml 's/size: {min: 0, max: 8}/size: {min: 0, max: 9}/'
commit 12:00 "spot: one more"

show() {
	printf '\n$ reconciler %s\n\n' "$*"
	"$reconciler" "$@"
}
cd "$repository"
git --no-pager log --graph --oneline --all
show preview --base main --head smaller-auto --cluster "$cluster"
show preview --base main --head smaller-auto --cluster "$cluster" -o markdown

"$reconciler" preview --base main --head smaller-auto --cluster "$cluster" -o html >"$report"
printf '\nThe same as a page, with the nodes before and after: %s\n' "$report"

# What the reviewer has read is saved on the branch; main went on, so that the merge is another policy.
git switch --quiet smaller-auto
"$reconciler" plan --cluster "$cluster" --no-settled --out plan.json >/dev/null
git switch --quiet main
export GIT_AUTHOR_DATE="2026-11-20T13:00:00Z" GIT_COMMITTER_DATE="2026-11-20T13:00:00Z"
git merge --quiet --no-edit smaller-auto
printf '\nA plan saved on the branch does not fit what was merged, since main had gone on:\n'
show apply plan.json --cluster "$cluster" --simulate || true
printf '\nMade again after the merge, exactly that is done:\n'
"$reconciler" plan --cluster "$cluster" --no-settled --out plan.json >/dev/null
show apply plan.json --cluster "$cluster" --simulate
