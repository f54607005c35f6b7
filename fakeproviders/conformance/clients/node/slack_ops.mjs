// @slack/web-api: an operation is a method of the web API, "chat.postMessage".
//
// Options: token ("" sends none), on_behalf_of (the account, for the fake), pages (all of them, as one list). The
// default of ten retries in about thirty minutes is kept in number; its waits are cut by the retry policy's own
// minTimeout and maxTimeout.
import webApi from '@slack/web-api';

const { WebClient, retryPolicies, LogLevel } = webApi;

export async function run(call) {
  const web = new WebClient(call.options.token ?? 'xoxb-sixthcopy', {
    slackApiUrl: `${call.base}/api/`,
    logLevel: LogLevel.ERROR,
    retryConfig: { ...retryPolicies.tenRetriesInAboutThirtyMinutes, minTimeout: 1, maxTimeout: 10 },
    headers: 'on_behalf_of' in call.options ? { 'X-On-Behalf-Of': call.options.on_behalf_of } : {},
  });
  if (call.options.pages) {
    const messages = [];
    for await (const page of web.paginate(call.op, call.args)) messages.push(...page.messages);
    return { answer: { messages } };
  }
  return { answer: await web.apiCall(call.op, call.args) };
}

export function error(e) {
  if (!e?.code?.startsWith?.('slack_webapi')) return null;
  return { type: e.constructor.name, status: e.statusCode, code: e.data?.error, message: e.message };
}
