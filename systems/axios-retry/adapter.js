// An adapter of axios with axios-retry: one POST a call.
import { lost, main, read, request } from 'sixthcopy-kit';
import { randomUUID } from 'node:crypto';
import axios from 'axios';
import axiosRetry from 'axios-retry';

const tuned = process.argv.includes('tuned');

axiosRetry(axios);

main({
  versions: { 'axios-retry': '4.5.0', axios: axios.VERSION },
  timeout: 'library',
  async call(c) {
    try {
      const { url, headers, body } = await request(c, tuned ? { key: randomUUID() } : {});
      const answer = await axios.post(url, body, { headers, signal: c.signal, timeout: c.timeout });
      return read(c, answer.status, answer.data);
    } catch (error) {
      // axios rejects for any status but 2xx; what has a response was answered.
      return error.response ? read(c, error.response.status, error.response.data) : lost(c, error);
    }
  },
});
