#!/bin/sh
# Makes the folder that it is run in ready: .venv with the pinned requirements.txt and the kit. Quick when nothing
# changed.
set -eu
kit=$(cd "$(dirname "$0")" && pwd)
if [ -f .venv/ready ] && cmp -s requirements.txt .venv/ready; then exit 0; fi
rm -rf .venv
python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
echo "$kit" > "$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/sixthcopy_kit.pth"
cp requirements.txt .venv/ready
