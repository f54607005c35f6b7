// What a library has under way on the network, seen by Node's own diagnostics channels: whether a call waits for
// an answer or for the time, and whether anything of it can have left.

import diagnostics from 'node:diagnostics_channel';
import { errorMonitor } from 'node:events';
import type { ClientRequest } from 'node:http';
import { hooks } from './virtual.js';

/** The exchanges of one call. */
export class Exchanges {
  /** Those without an answer: the library waits for them. */
  readonly unanswered = new Set<object>();
  started = 0;
  refused = 0;

  /** Whether anything can have left: some dial of it was not refused. */
  get left(): boolean { return this.started > this.refused; }
}

/** Requests that the kit makes for itself: no library's, and no part of a call. */
export const own = new WeakSet<object>();

/** All exchanges that are under way, whosever; an answer that nobody reads to its end is. */
export const open = new Set<object>();

const of = new WeakMap<object, Exchanges | undefined>();

/** Whose exchanges those are that begin now. */
let whose: () => Exchanges | undefined = () => undefined;

export function watch(current: () => Exchanges | undefined): void {
  whose = current;
  diagnostics.subscribe('http.client.request.start', (message) => {
    const { request } = message as { request: ClientRequest };
    if (own.has(request)) return;
    began(request);
    request.once(errorMonitor, (error: Error) => failed(request, error));
    request.once('close', () => over(request));
  });
  diagnostics.subscribe('http.client.response.finish', (message) => answered((message as { request: object }).request));
  diagnostics.subscribe('undici:request:create', (message) => began((message as { request: object }).request));
  diagnostics.subscribe('undici:request:headers', (message) => answered((message as { request: object }).request));
  diagnostics.subscribe('undici:request:trailers', (message) => over((message as { request: object }).request));
  diagnostics.subscribe('undici:request:error', (message) => {
    const { request, error } = message as { request: object; error: Error };
    failed(request, error);
    over(request);
  });
}

function began(request: object): void {
  const call = whose();
  of.set(request, call);
  open.add(request);
  if (call) {
    call.unanswered.add(request);
    call.started++;
  }
  hooks.changed();
}

function failed(request: object, error: Error): void {
  const call = of.get(request);
  if (call && refused(error)) call.refused++;
}

function answered(request: object): void {
  of.get(request)?.unanswered.delete(request);
  hooks.changed();
}

function over(request: object): void {
  open.delete(request);
  answered(request);
}

/** Reports whether a dial was refused: the one error of a connection that proves that nothing was sent. Causes count. */
export function refused(error: unknown): boolean {
  for (let e = error as { code?: unknown; cause?: unknown } | null | undefined, depth = 0; e && depth < 8; e = e.cause as typeof e, depth++) {
    if (e.code === 'ECONNREFUSED') return true;
  }
  return false;
}
