#!/bin/bash
# runner.sh TESTS.patch [FEATURE.patch]: the tests of a feature, in the container; patches in /patches.
set -e
cd /workspace/repo
trap 'git reset -q --hard HEAD; git clean -qfdx' EXIT
git reset -q --hard HEAD
git clean -qfdx
if [[ -n "$2" ]]; then
    git apply --ignore-whitespace "/patches/$2" || git apply --3way "/patches/$2"
fi
git apply --ignore-whitespace "/patches/$1" || git apply --3way "/patches/$1"
TESTS=$(git status --porcelain --untracked-files=all | awk '{print $2}' | grep '^tests/test_')
PYTHONPATH=. python -m pytest $TESTS -v
