#!/bin/sh
# setup.sh: makes node_modules of the folder where it is called, from its package.json: the pinned library, and
# this kit by a link. No lock file is written, for it would name a registry's host.
set -eu
command -v npm >/dev/null || { echo "no npm in PATH: apt-get install -y nodejs npm (Node 20 or newer)" >&2; exit 1; }
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' ||
	{ echo "node is $(node --version), expected 20 or newer" >&2; exit 1; }
npm install --no-package-lock --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
