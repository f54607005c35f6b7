#!/bin/sh
# The answer to an appended line is lost, and a blind retry appends it again.
set -eu
mkfifo said
sixthcopy provide lines-no-key >said &
fake=$!
read -r line <said # it comes when the fake can be called
field() { echo "$line" | sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/"; }
address=$(field address) control=$(field control)
token="Authorization: Bearer $(cat "$(field token_file)")"

append() { curl -s "$address/documents/log/lines" -d '{"text":"paid 25.00"}'; }

curl -s -H "$token" "$control/gate" -d '{"at":"committed","act":"reset"}'
append || echo "no answer: curl ended with $?"
curl -s -H "$token" "$control/gate/o1?wait=10s" # the strike, and which request it hit
append
curl -s -H "$token" "$control/effects" # two lines, where one was wanted

kill "$fake"
wait "$fake"
rm said
