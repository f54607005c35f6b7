// An adapter of got: one POST a call.
import { lost, main, read, request } from 'sixthcopy-kit';
import { randomUUID } from 'node:crypto';
import got, { HTTPError } from 'got';

const tuned = process.argv.includes('tuned');

main({
  versions: { got: '14.6.6' },
  timeout: 'library',
  async call(c) {
    try {
      const { url, headers, body } = await request(c, tuned ? { key: randomUUID() } : {});
      const answer = await got.post(url, {
        headers, body, signal: c.signal,
        ...(c.timeout && { timeout: { request: c.timeout } }),
        ...(tuned && { retry: { methods: ['POST'] } }),
      });
      return read(c, answer.statusCode, answer.body);
    } catch (error) {
      return error instanceof HTTPError ? read(c, error.response.statusCode, error.response.body) : lost(c, error);
    }
  },
});
