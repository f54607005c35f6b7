#!/bin/sh
# build.sh: installs the pinned compiler beside the sources and makes dist/ anew. dist/ is committed, so that an
# adapter runs without a build; sums says of which sources it is, and a test compares.
set -eu
cd "$(dirname "$0")"
npm install --no-package-lock --no-audit --no-fund --loglevel=error
rm -rf dist
node_modules/.bin/tsc
sha256sum package.json tsconfig.json src/*.ts dist/* >sums
