// stripe-node: an operation is a service and its method, "refunds.create"; v2 services as "v2.core.accounts.create".
// Options: key, account, context, retries, api_key, id (of the object the method is about),
// all (a list is read to its end, over all of its pages).
import Stripe from 'stripe';

export async function run(call) {
  const path = call.op.split('.').map((s) => s.replace(/_(\w)/g, (_, c) => c.toUpperCase()));
  let at = call.keep(() => client(call));
  for (const name of path.slice(0, -1)) at = at[name];
  const said = {};
  if ('key' in call.options) said.idempotencyKey = call.options.key;
  if ('account' in call.options) said.stripeAccount = call.options.account;
  if ('context' in call.options) said.stripeContext = call.options.context;
  const before = 'id' in call.options ? [call.options.id] : [];
  const method = at.del && path.at(-1) === 'delete' ? 'del' : path.at(-1);
  if (call.options.all) {
    const ids = [];
    for await (const o of at[method](...before, call.args, said)) ids.push(o.id);
    return { answer: { ids }, headers: {} };
  }
  const answer = await at[method](...before, call.args, said);
  return { answer, headers: answer.lastResponse?.headers };
}

function client(call) {
  const { hostname, port } = new URL(call.base);
  const config = { host: hostname, port, protocol: 'http' };
  if ('retries' in call.options) config.maxNetworkRetries = call.options.retries;
  return new Stripe(call.options.api_key ?? 'sk_test_sixthcopy', config);
}

export function error(e) {
  if (!(e instanceof Stripe.errors.StripeError)) return null;
  return { type: e.type, status: e.statusCode, code: e.code, message: e.message, headers: e.headers };
}
