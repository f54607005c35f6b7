// Virtual time, for libraries that know nothing of it. Loaded before a library, this module lets all that a
// library measures or sets by the clock run on the time of the trial: Date, setTimeout, timers/promises,
// AbortSignal.timeout, and the time-outs of sockets. What Node's own code sets (the timers inside fetch), a delay below a
// millisecond, and everything outside a trial stay real.
import { AsyncResource } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { promisify } from 'node:util';
const RealDate = Date;
const real = {
    setTimeout: globalThis.setTimeout,
    clearTimeout: globalThis.clearTimeout,
    clearInterval: globalThis.clearInterval,
    wait: timersPromises.setTimeout,
    socketSetTimeout: net.Socket.prototype.setTimeout,
};
/** The longest delay that Node takes; it makes 1 ms of a longer one. */
const longest = 2 ** 31 - 1;
const alarms = new Set();
const byId = new Map();
const bySocket = new WeakMap();
let open = false; // a trial is
let time = 0;
/** What the kit tells this module, and what it is told. */
export const hooks = {
    owner: () => undefined,
    changed: () => undefined,
};
/** Virtual time in milliseconds; outside a trial the machine's. */
export function now() {
    return open ? time : RealDate.now();
}
/** Opens a trial's time. */
export function begin(at) {
    open = true;
    time = at;
}
/** Closes it: nothing that is set rings any more. */
export function end() {
    open = false;
    alarms.clear();
    byId.clear();
}
/** Moves time and rings what is due, the earliest first. */
export function advance(to) {
    pending(); // what sockets did until now, they did at the time of before
    time = to;
    const due = [...alarms].filter((a) => a.until <= to).sort((a, b) => a.until - b.until);
    for (const alarm of due) {
        if (!alarms.delete(alarm))
            continue; // one of the others took it back
        try {
            alarm.ring();
        }
        catch (error) {
            queueMicrotask(() => { throw error; }); // as out of any timer
        }
    }
}
/** What is set. */
export function pending() {
    for (const alarm of alarms) {
        if (!alarm.socket)
            continue;
        if (alarm.socket.self.destroyed)
            alarms.delete(alarm);
        const bytes = traffic(alarm.socket.self);
        if (bytes !== alarm.socket.bytes) { // it was not idle
            alarm.socket.bytes = bytes;
            alarm.until = time + alarm.length;
        }
    }
    return alarms;
}
/** Sets an alarm; the answer takes it back. */
export function set(length, ring, socket) {
    const alarm = {
        until: time + length, length, owner: hooks.owner(), ring: AsyncResource.bind(ring),
        ...(socket && { socket: { self: socket, bytes: traffic(socket) } }),
    };
    alarms.add(alarm);
    hooks.changed();
    return alarm;
}
export function drop(alarm) {
    if (alarm && alarms.delete(alarm))
        hooks.changed();
}
function traffic(socket) {
    return socket.bytesRead + socket.bytesWritten;
}
/** What setTimeout answers in a trial. */
class VirtualTimeout {
    static last = 2 ** 40; // far from the numbers of Node's own
    id = ++VirtualTimeout.last;
    #alarm;
    #length;
    #ring;
    constructor(length, ring) {
        this.#length = length;
        this.#ring = () => {
            byId.delete(this.id);
            ring();
        };
        this.refresh();
    }
    refresh() {
        drop(this.#alarm);
        byId.set(this.id, this);
        this.#alarm = set(this.#length, this.#ring);
        return this;
    }
    close() {
        byId.delete(this.id);
        drop(this.#alarm);
        return this;
    }
    ref() { return this; }
    unref() { return this; }
    hasRef() { return true; }
    [Symbol.toPrimitive]() { return this.id; }
    [Symbol.dispose ?? Symbol('dispose')]() { this.close(); }
}
/** Reports whether the caller of the patched function is Node's own code. */
function fromNode() {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 3; // this function, the patched one, its caller
    const caller = String(new Error().stack).split('\n')[3] ?? '';
    Error.stackTraceLimit = limit;
    return /[( ]node:/.test(caller);
}
/** The delay in whole milliseconds if it is a virtual one, else 0. */
function virtual(delay) {
    const ms = Math.trunc(Number(delay));
    return open && ms >= 1 && ms <= longest ? ms : 0;
}
function setTimeoutHere(callback, delay, ...args) {
    const ms = virtual(delay);
    if (!ms || typeof callback !== 'function' || fromNode())
        return real.setTimeout(callback, delay, ...args);
    return new VirtualTimeout(ms, () => callback(...args));
}
function clearHere(clear) {
    return (handle) => {
        const ours = handle instanceof VirtualTimeout ? handle : byId.get(Number(handle));
        if (ours)
            ours.close();
        else
            clear(handle);
    };
}
function waitHere(delay, value, options) {
    const ms = virtual(delay);
    if (!ms)
        return real.wait(delay, value, options);
    const signal = options?.signal;
    return new Promise((resolve, reject) => {
        const stop = () => {
            timeout.close();
            reject(Object.assign(new Error('The operation was aborted', { cause: signal?.reason }), { name: 'AbortError', code: 'ABORT_ERR' }));
        };
        const timeout = new VirtualTimeout(ms, () => {
            signal?.removeEventListener('abort', stop);
            resolve(value);
        });
        if (signal?.aborted)
            stop();
        else
            signal?.addEventListener('abort', stop, { once: true });
    });
}
function signalHere(realTimeout) {
    return (delay) => {
        const ms = virtual(delay);
        if (!ms)
            return realTimeout.call(AbortSignal, delay);
        const controller = new AbortController();
        new VirtualTimeout(ms, () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')));
        return controller.signal;
    };
}
function socketHere(delay, callback) {
    if (!open || !(delay >= 0))
        return real.socketSetTimeout.call(this, delay, callback);
    real.socketSetTimeout.call(this, 0); // one that was set outside a trial
    Object.assign(this, { timeout: delay });
    drop(bySocket.get(this));
    bySocket.delete(this);
    if (delay === 0) {
        if (callback)
            this.removeListener('timeout', callback);
        return this;
    }
    const alarm = set(Math.max(1, Math.trunc(delay)), () => this.emit('timeout'), this);
    bySocket.set(this, alarm);
    if (callback)
        this.once('timeout', callback);
    return this;
}
Object.defineProperty(setTimeoutHere, promisify.custom, { value: waitHere });
Object.assign(globalThis, {
    setTimeout: setTimeoutHere,
    clearTimeout: clearHere(real.clearTimeout),
    clearInterval: clearHere(real.clearInterval),
    Date: new Proxy(RealDate, {
        construct: (target, args, self) => Reflect.construct(target, args.length > 0 ? args : [now()], self),
        apply: (target) => new target(now()).toString(),
        get: (target, key) => key === 'now' ? now : Reflect.get(target, key),
    }),
});
RealDate.prototype.constructor = Date;
Object.assign(timers, { setTimeout, clearTimeout, clearInterval });
Object.assign(timersPromises, { setTimeout: waitHere });
timersPromises.scheduler.wait = (delay, options) => waitHere(delay, undefined, options);
AbortSignal.timeout = signalHere(AbortSignal.timeout);
net.Socket.prototype.setTimeout = socketHere;
syncBuiltinESMExports();
