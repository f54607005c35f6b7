// @ts-check: an adapter, between sixthcopy, which hands over calls, and the code under test, which makes them.
import { lost, main, read, request } from './sixthcopy-kit/dist/index.js'; // first: it puts virtual time under what comes after
import { randomUUID } from 'node:crypto';

const withKey = process.argv.includes('--key'); // of the variant with-key

/**
 * The code under test: put yours in its place. This one sends a request again, three times at most, when it
 * gets no answer or a 5xx. Its timer passes in virtual time: the kit sees to that.
 * @param {string} url
 * @param {RequestInit} sent
 * @returns {Promise<{status: number, body: string}>}
 */
async function post(url, sent) {
  for (let attempt = 1; ; attempt++) {
    try {
      const response = await fetch(url, sent);
      const body = await response.text();
      if (response.status < 500 || attempt === 3) return { status: response.status, body };
    } catch (error) {
      if (attempt === 3 || sent.signal?.aborted) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 1000 * 2 ** attempt));
  }
}

main({
  timeout: 'library', // c.timeout is handed to the library; else the kit ends c.signal
  async call(c) {
    try {
      const key = withKey ? randomUUID() : undefined; // before the first attempt, and the same for all of them
      const { url, ...sent } = await request(c, { key }); // what calls the tool, as it is offered
      const signal = c.timeout ? AbortSignal.any([c.signal, AbortSignal.timeout(c.timeout)]) : c.signal;
      const { status, body } = await post(url, { ...sent, signal });
      return read(c, status, body); // the answer as a claim
    } catch (error) {
      return lost(c, error); // failed if nothing of the call has left, else unknown
    }
  },
});
