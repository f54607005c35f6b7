// An adapter of stripe-node: a call of the payments family is one method of the library.
import { done, failed, lost, main, unknown } from 'sixthcopy-kit';
import Stripe from 'stripe';

const tuned = process.argv.includes('tuned');
const { errors } = Stripe;

// The API's refusals: it says that the request was not carried out. What comes as a StripeIdempotencyError, a
// StripeRateLimitError or a StripeAPIError leaves open what became of the call.
const refusals = [errors.StripeInvalidRequestError, errors.StripeCardError, errors.StripeAuthenticationError, errors.StripePermissionError];

const whole = (number) => Math.trunc(Number(number));
const given = (args, ...names) => Object.fromEntries(names.filter((n) => args[n]).map((n) => [n, args[n]]));

/** By tool: the service, its method, and the parameters. */
const methods = {
  refund_order: ['refunds', 'create', (a) => ({ payment_intent: a.order, amount: whole(a.amount), ...(a.reason && { metadata: { reason: a.reason } }) })],
  charge_order: ['charges', 'create', (a) => ({ amount: whole(a.amount), metadata: { order: a.order }, ...given(a, 'currency', 'description') })],
  create_payout: ['payouts', 'create', (a) => ({ amount: whole(a.amount), ...given(a, 'currency', 'description') })],
  create_transfer: ['transfers', 'create', (a) => ({ amount: whole(a.amount), ...given(a, 'currency', 'destination', 'description') })],
  list_refunds: ['refunds', 'list', (a) => ({ payment_intent: a.order, limit: 100 })],
  list_charges: ['charges', 'list', (a) => ({ payment_intent: a.order, limit: 100 })],
  list_payouts: ['payouts', 'list', () => ({ limit: 100 })],
  list_transfers: ['transfers', 'list', (a) => ({ destination: a.destination, limit: 100 })],
};

main({
  versions: { stripe: Stripe.PACKAGE_VERSION },
  timeout: 'library',
  open(trial) {
    const { hostname, port } = new URL(trial.start.providers.payments);
    const timeout = trial.start.knobs.call_timeout_ms;
    trial.value = new Stripe('sk_test_sixthcopy', { host: hostname, port, protocol: 'http', ...(timeout && { timeout }) });
  },
  async call(c) {
    const { id, tool, args } = c.given;
    const [service, method, parameters] = methods[tool];
    const options = { ...(args.account && { stripeAccount: args.account }), ...(tuned && method === 'create' && { idempotencyKey: id }) };
    try {
      const answer = await c.trial.value[service][method](parameters(args), options);
      if (method === 'list') return done();
      return answer.id ? done(answer.id) : unknown('the answer names no object');
    } catch (error) {
      if (refusals.some((refusal) => error instanceof refusal)) return failed(error);
      return error instanceof errors.StripeConnectionError ? lost(c, error) : unknown(error);
    }
  },
});
