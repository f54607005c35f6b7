// Carries out operations with real SDKs: one JSON line each on stdin, one JSON line each on stdout.
//
// Operations run at the same time. A family of SDKs is one module, FAMILY_ops.mjs, imported when its first
// operation comes, with
//   run(call) -> {answer, headers}   the SDK's answer as JSON-able values, its headers if it shows them
//   error(e) -> object               type, status, code, message of one of its own errors; null: not its own
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const kept = new Map();

// keep gives the SDK's client object: one for each operation, or one for all operations of a session.
function keep(call, make) {
  if (!call.session) return make();
  const at = JSON.stringify([call.client, call.base, call.session]);
  if (!kept.has(at)) kept.set(at, make());
  return kept.get(at);
}

async function carryOut(line) {
  if (line.op === 'version') {
    return { ok: JSON.parse(readFileSync(`node_modules/${line.args.package}/package.json`)).version };
  }
  const family = await import(`./${line.family}_ops.mjs`);
  const call = { ...line, args: line.args ?? {}, options: line.options ?? {} };
  call.keep = (make) => keep(call, make);
  try {
    const { answer, headers } = await family.run(call);
    return { ok: answer, headers: Object.fromEntries(Object.entries(headers ?? {}).map(([k, v]) => [k.toLowerCase(), String(v)])) };
  } catch (e) {
    const known = family.error(e);
    if (!known) console.error(e);
    return { error: known ?? { type: e?.constructor?.name ?? typeof e, message: String(e?.message ?? e) } };
  }
}

for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text);
  carryOut(line)
    .catch((e) => ({ error: { type: 'harness', message: String(e?.stack ?? e) } }))
    .then((answer) => process.stdout.write(JSON.stringify({ id: line.id, ...answer }) + '\n'));
}
