// An adapter of Amazon's SDK for JavaScript: a call of its families is one command of a client.
import { failed, lost, main, unknown } from 'sixthcopy-kit';
import { devNull } from 'node:os';
import { operations } from './operations.js';

const tuned = process.argv.includes('tuned');

// What the user of this machine has set for AWS is no default of the library.
for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
process.env.AWS_CONFIG_FILE = process.env.AWS_SHARED_CREDENTIALS_FILE = devNull;

// Errors that say that something is in the way: another call of that token, or an item that is there. They do not
// say whose it is.
const conflicts = new Set([
  'ConflictException', 'IdempotentInstanceTerminated', 'IdempotentParameterMismatch', 'IdempotentParameterMismatchException',
  'ResourceInUse', 'TransactionCanceledException', 'TransactionInProgressException',
]);

/**
 * Reports whether the service says that it did not carry this call out. An error without a name of the service's comes from
 * something in between.
 */
function refusal({ name, message, $metadata: { httpStatusCode: status } }) {
  if (name === 'InsufficientInstanceCapacity') return true; // its status is 500
  const taken = conflicts.has(name) || message.includes('not idempotent'); // CreateService: the name is taken
  return !taken && !/^(Error|Unknown.*|SyntaxError)$/.test(name) && status >= 400 && status < 500 && ![408, 409, 429].includes(status);
}

main({
  versions: { '@aws-sdk': '3.1164.0' },
  timeout: 'library',
  async open(trial) {
    const { provider, client } = operations[trial.start.tools.find((t) => t.name in operations).name];
    const sdk = await import(`@aws-sdk/client-${client}`);
    const Client = sdk[Object.keys(sdk).find((name) => name.endsWith('Client') && name !== '__Client')];
    const timeout = trial.start.knobs.call_timeout_ms;
    trial.value = {
      sdk,
      client: new Client({
        endpoint: trial.start.providers[provider], region: 'us-east-1',
        credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' },
        ...(timeout && { requestHandler: { requestTimeout: timeout, throwOnRequestTimeout: true } }),
      }),
    };
  },
  close(trial) {
    trial.value.client.destroy();
  },
  async call(c) {
    const { sdk, client } = c.trial.value;
    const operation = operations[c.given.tool];
    const input = operation.parameters(c.given.args);
    if (tuned && input.Entries) for (const entry of input.Entries) entry[operation.token] = `${c.given.id}/${entry.Id}`;
    else if (tuned) input[operation.token] = c.given.id;
    try {
      return operation.claim(await client.send(new sdk[`${operation.command}Command`](input), { abortSignal: c.signal }));
    } catch (error) {
      if (!error.$metadata?.httpStatusCode) return lost(c, error);
      return refusal(error) ? failed(error) : unknown(error);
    }
  },
});
