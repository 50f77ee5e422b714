#!/bin/bash
# run_tests.sh FEATURE: a feature's tests with its gold patch, in Docker.
set -e
cd "$(dirname "$0")"
docker run --rm -v "$PWD/feature$1:/patches" simenvs-grid tests.patch feature.patch
