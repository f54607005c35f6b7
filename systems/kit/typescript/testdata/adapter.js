// The adapter of the kit's test: the tool's name says what a call does.
import { done, failed, lost, main, read, request, unknown } from '../dist/index.js';
import http from 'node:http';
import timersPromises, { setTimeout as sleep } from 'node:timers/promises';

const library = process.argv.includes('library');

/** A plain POST on Node's own HTTP, as a library would make it. */
function post({ url, method, headers, body }, { signal, timeout }) {
  return new Promise((resolve, reject) => {
    const outgoing = http.request(url, { method, headers, signal }, async (answer) => {
      let text = '';
      try {
        for await (const chunk of answer) text += chunk;
        resolve({ status: answer.statusCode, body: text });
      } catch (error) {
        reject(error);
      }
    });
    if (timeout) outgoing.setTimeout(timeout, () => outgoing.destroy(new Error('too slow')));
    outgoing.on('error', reject).end(body);
  });
}

/** A call of a tool: three tries of send, with back-offs of one and two seconds after what is no 2xx. */
async function tool(c, send) {
  try {
    const made = await request(c, { key: 'key-1' });
    for (let tries = 1; ; tries++) {
      const answer = await send(made);
      if (answer.status < 500 || tries === 3) return read(c, answer.status, answer.body);
      await sleep(tries * 1000);
    }
  } catch (error) {
    return lost(c, error);
  }
}

const calls = {
  async wait(c) {
    await c.wait(new Date(c.now.getTime() + 5000), 'look-up lag');
    return done(c.now.toISOString());
  },
  async timers() {
    const dates = [];
    await new Promise((resolve) => setTimeout(resolve, 3000));
    dates.push(new Date().toISOString());
    await sleep(2000);
    dates.push(new Date(Date.now()).toISOString());
    await timersPromises.scheduler.wait(1000);
    dates.push(Date().split(' ')[3]);
    const cut = AbortSignal.timeout(4000);
    await new Promise((resolve) => cut.addEventListener('abort', resolve));
    dates.push(cut.reason.name);
    return done(...dates);
  },
  async cleared() {
    const [first, second, third] = [1, 2, 3].map((s) => setTimeout(() => { throw new Error('cleared, and rang'); }, s * 1000));
    clearTimeout(first);
    clearTimeout(Number(second));
    third.close();
    const stop = new AbortController();
    const sleeping = sleep(1000, undefined, { signal: stop.signal });
    stop.abort();
    const ended = await sleeping.catch((error) => error.name);
    await new Promise((resolve) => setTimeout(resolve, 9000).refresh().unref());
    return done(ended);
  },
  async ask(c) {
    return (await c.ask('really?')) === 'denied' ? failed('denied') : unknown('allowed');
  },
  async at(c) {
    await c.at('dispatching');
    return done();
  },
  prints() {
    console.log('a line of a library');
    process.stdout.write('{"type":"claim"}\n');
    return done();
  },
  throws() {
    throw new Error('an adapter that throws');
  },
  async stands(c) { // until it is stopped
    await new Promise((resolve) => c.signal.addEventListener('abort', resolve));
    return unknown(c.signal.reason);
  },
  never: () => new Promise(() => undefined),
  async unread(c) {
    const { url, method, headers, body } = await request(c);
    await new Promise((resolve, reject) => http.request(url, { method, headers }, resolve).on('error', reject).end(body));
    await sleep(1000);
    return done();
  },
  by_http: (c) => tool(c, (made) => post(made, { signal: c.signal, timeout: library && c.timeout })),
  by_fetch: (c) => tool(c, async ({ url, ...made }) => {
    const answer = await fetch(url, { ...made, signal: c.signal });
    return { status: answer.status, body: await answer.text() };
  }),
};

main({
  versions: { test: '1' },
  ...(library && { timeout: 'library' }),
  call: (c) => calls[c.given.tool](c),
});
