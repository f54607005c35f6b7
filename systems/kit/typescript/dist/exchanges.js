// What a library has under way on the network, seen by Node's own diagnostics channels: whether a call waits for
// an answer or for the time, and whether anything of it can have left.
import diagnostics from 'node:diagnostics_channel';
import { errorMonitor } from 'node:events';
import { hooks } from './virtual.js';
/** The exchanges of one call. */
export class Exchanges {
    /** Those without an answer: the library waits for them. */
    unanswered = new Set();
    started = 0;
    refused = 0;
    /** Whether anything can have left: some dial of it was not refused. */
    get left() { return this.started > this.refused; }
}
/** Requests that the kit makes for itself: no library's, and no part of a call. */
export const own = new WeakSet();
/** All exchanges that are under way, whosever; an answer that nobody reads to its end is. */
export const open = new Set();
const of = new WeakMap();
/** Whose exchanges those are that begin now. */
let whose = () => undefined;
export function watch(current) {
    whose = current;
    diagnostics.subscribe('http.client.request.start', (message) => {
        const { request } = message;
        if (own.has(request))
            return;
        began(request);
        request.once(errorMonitor, (error) => failed(request, error));
        request.once('close', () => over(request));
    });
    diagnostics.subscribe('http.client.response.finish', (message) => answered(message.request));
    diagnostics.subscribe('undici:request:create', (message) => began(message.request));
    diagnostics.subscribe('undici:request:headers', (message) => answered(message.request));
    diagnostics.subscribe('undici:request:trailers', (message) => over(message.request));
    diagnostics.subscribe('undici:request:error', (message) => {
        const { request, error } = message;
        failed(request, error);
        over(request);
    });
}
function began(request) {
    const call = whose();
    of.set(request, call);
    open.add(request);
    if (call) {
        call.unanswered.add(request);
        call.started++;
    }
    hooks.changed();
}
function failed(request, error) {
    const call = of.get(request);
    if (call && refused(error))
        call.refused++;
}
function answered(request) {
    of.get(request)?.unanswered.delete(request);
    hooks.changed();
}
function over(request) {
    open.delete(request);
    answered(request);
}
/** Reports whether a dial was refused: the one error of a connection that proves that nothing was sent. Causes count. */
export function refused(error) {
    for (let e = error, depth = 0; e && depth < 8; e = e.cause, depth++) {
        if (e.code === 'ECONNREFUSED')
            return true;
    }
    return false;
}
