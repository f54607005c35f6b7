// An adapter of p-retry around Node's fetch: one POST a call.
import { lost, main, read, request } from 'sixthcopy-kit';
import { randomUUID } from 'node:crypto';
import pRetry from 'p-retry';

const tuned = process.argv.includes('tuned');

/** An answer that is not 2xx: thrown, as the library's own examples do, so that it is tried again. */
class NotOk extends Error {
  constructor(response, body) {
    super(`HTTP ${response.status}`);
    this.status = response.status;
    this.body = body;
  }
}

main({
  versions: { 'p-retry': '7.1.1', node: process.versions.node },
  timeout: 'library',
  async call(c) {
    try {
      const { url, ...sent } = await request(c, tuned ? { key: randomUUID() } : {});
      const { status, body } = await pRetry(async () => {
        const signal = c.timeout ? AbortSignal.any([c.signal, AbortSignal.timeout(c.timeout)]) : c.signal;
        const response = await fetch(url, { ...sent, signal });
        const body = await response.text();
        if (!response.ok) throw new NotOk(response, body);
        return { status: response.status, body };
      }, { signal: c.signal });
      return read(c, status, body);
    } catch (error) {
      return error instanceof NotOk ? read(c, error.status, error.body) : lost(c, error);
    }
  },
});
