#!/bin/bash
# setup.sh: build the image.
set -e
cd "$(dirname "$0")"
docker build -t simenvs-grid .
