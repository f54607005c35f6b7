// An adapter of octokit: a call of the repository family is one method of the library.
import { done, failed, lost, main, unknown } from 'sixthcopy-kit';
import { readFileSync } from 'node:fs';
import { Octokit, RequestError } from 'octokit';

const tuned = process.argv.includes('tuned');

const given = (args, ...names) => Object.fromEntries(names.filter((n) => args[n]).map((n) => [n, args[n]]));

/** The body, with the caller's reference at its end. */
function marked({ body = '', reference }) {
  const text = reference ? `${body && `${body}\n\n`}<!-- reference: ${reference} -->` : body;
  return text && { body: text };
}

/** By tool: the method of octokit.rest, and the parameters beside the repository. */
const methods = {
  create_issue: ['issues', 'create', (a) => ({ title: a.title, ...marked(a), ...(a.labels && { labels: a.labels.split(',') }) })],
  comment_issue: ['issues', 'createComment', (a) => ({ issue_number: Math.trunc(Number(a.issue)), ...marked(a) })],
  open_pull_request: ['pulls', 'create', (a) => given(a, 'head', 'base', 'title', 'body')],
  create_release: ['repos', 'createRelease', (a) => ({ tag_name: a.tag, ...given(a, 'name', 'body') })],
  draft_release: ['repos', 'createRelease', (a) => ({ tag_name: a.tag, draft: true, ...given(a, 'name'), ...marked(a) })],
  create_deployment: ['repos', 'createDeployment', (a) => ({
    ...given(a, 'ref', 'environment', 'description'), auto_merge: false, required_contexts: [],
    ...(a.reference && { payload: { reference: a.reference } }),
  })],
};

/**
 * Reports whether GitHub says that it did not carry this call out. That something of that name exists does not say who made it,
 * and what has no message of GitHub's was answered by something in between.
 */
function refusal({ status, response }) {
  const { message = '', errors = [] } = response?.data ?? {};
  const said = message + JSON.stringify(errors);
  return message !== '' && !/already.exists/.test(said) && status >= 400 && status < 500 && ![408, 409, 429].includes(status);
}

let trials = 0;

main({
  versions: { octokit: JSON.parse(readFileSync('node_modules/octokit/package.json')).version },
  open(trial) {
    trial.value = new Octokit({
      auth: 'ghp_sixthcopy',
      baseUrl: trial.start.providers.repository,
      // The pauses between requests are kept by id for the whole process: a trial gets one of its own, and the
      // answers to rate limits that are the default.
      throttle: { id: `trial ${++trials}`, onRateLimit: once, onSecondaryRateLimit: once },
      ...(tuned && { retry: { enabled: false } }),
    });
  },
  async call(c) {
    const [family, method, parameters] = methods[c.given.tool];
    const [owner, repo] = c.given.args.repository.split('/');
    try {
      const { data } = await c.trial.value.rest[family][method]({ owner, repo, ...parameters(c.given.args), request: { signal: c.signal } });
      return data?.id ? done(String(data.id)) : unknown('the answer names no object');
    } catch (error) {
      if (!(error instanceof RequestError) || !error.response) return lost(c, error);
      return refusal(error) ? failed(error) : unknown(error);
    }
  },
});

/** What octokit answers to a rate limit: one more try. */
function once(retryAfter, options) {
  return options.request.retryCount === 0;
}
