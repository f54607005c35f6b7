// octokit and @octokit/rest: an operation is an endpoint method, "issues.create".
//
// Options: token ("" sends none), paginate (all pages, as one list). The back-off of octokit's retries (1, 4 and 9
// seconds) is cut to milliseconds by plugin-retry's own option retryAfterBaseValue, which leaves their number; a
// throttling id of its own keeps an operation from queueing behind those of other scenarios.
import { Octokit as Rest } from '@octokit/rest';
import { Octokit as Whole, RequestError } from 'octokit';

let operations = 0;

export async function run(call) {
  const auth = (call.options.token ?? 'ghp_sixthcopy') || undefined;
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const octokit = call.keep(() => (call.client === 'octokit'
    ? new Whole({ baseUrl: call.base, auth, log: quiet, retry: { retryAfterBaseValue: 10 }, throttle: { id: `${++operations}`, onRateLimit: once, onSecondaryRateLimit: once } })
    : new Rest({ baseUrl: call.base, auth, log: quiet })));
  const [family, method] = call.op.split('.');
  const endpoint = octokit.rest[family][method];
  if (call.options.paginate) return { answer: await octokit.paginate(endpoint, call.args) };
  const { data, headers } = await endpoint(call.args);
  return { answer: data, headers };
}

// once is what octokit answers to a rate limit by default.
function once(retryAfter, options) {
  return options.request.retryCount === 0;
}

export function error(e) {
  if (!(e instanceof RequestError) && e?.name !== 'HttpError') return null;
  const data = e.response?.data ?? {};
  return { type: e.constructor.name, status: e.status, code: data.errors?.[0]?.code, message: data.message ?? e.message };
}
