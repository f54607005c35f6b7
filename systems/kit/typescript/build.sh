#!/bin/sh
# build.sh: installs the pinned compiler beside the sources and makes dist/ anew. dist/ is committed, so that an
# adapter runs without a build; a test compares.
set -eu
cd "$(dirname "$0")"
npm install --no-package-lock --no-audit --no-fund --loglevel=error
rm -rf "${1:-dist}"
node_modules/.bin/tsc --outDir "${1:-dist}"
