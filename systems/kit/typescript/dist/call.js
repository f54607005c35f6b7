import { Exchanges } from './exchanges.js';
import * as virtual from './virtual.js';
/** Why a call is stopped: the reason of its signal. */
export class Stopped extends Error {
    why;
    name = 'AbortError';
    constructor(why) {
        super(`the call was stopped: ${why}`);
        this.why = why;
    }
}
/** A call handed to the system: given in a turn, or the repair of one. */
export class Call {
    trial;
    turn;
    given;
    ref;
    repair;
    redelivered;
    /** Fires when the call is cancelled, its goal withdrawn, the trial closed, or the time-out of the call reached. */
    signal;
    /** @internal */
    exchanges = new Exchanges();
    /** @internal */
    waits = new Map();
    /** @internal */
    controller = new AbortController();
    /** @internal */
    rpcId = 0;
    constructor(trial, 
    /** As handed over; of a turn of an earlier process the id only. */
    turn, given, 
    /** The call that it is, or that it repairs. */
    ref, repair, 
    /** The turn was handed over before, to an earlier process. */
    redelivered) {
        this.trial = trial;
        this.turn = turn;
        this.given = given;
        this.ref = ref;
        this.repair = repair;
        this.redelivered = redelivered;
        this.signal = this.controller.signal;
    }
    /** The tool, as it is offered. */
    get tool() {
        const { tools } = this.trial.start;
        const tool = tools.find((t) => t.name === this.given.tool);
        if (tool)
            return tool;
        throw new Error(`tool ${this.given.tool} is not offered, expected one of ${tools.map((t) => t.name).join(', ')}`);
    }
    /** Virtual time. */
    get now() { return this.trial.now; }
    /** The time-out of a call in milliseconds, for the library's own setting; undefined: none. */
    get timeout() { return this.trial.start.knobs.call_timeout_ms || undefined; }
    /** Whether anything of this call can have left: a request was made, and its dial was not refused. */
    get left() { return this.exchanges.left; }
    /** Sleeps until virtual time reaches until; why is for the reader: "back-off", "look-up lag". Rejects when the call is stopped. */
    wait(until, why) {
        return new Promise((resolve, reject) => {
            if (this.signal.aborted) {
                reject(this.signal.reason);
                return;
            }
            if (until.getTime() <= virtual.now()) {
                resolve();
                return;
            }
            const stop = () => {
                virtual.drop(alarm);
                this.waits.delete(alarm);
                reject(this.signal.reason);
            };
            const alarm = virtual.set(until.getTime() - virtual.now(), () => {
                this.signal.removeEventListener('abort', stop);
                this.waits.delete(alarm);
                resolve();
            });
            this.waits.set(alarm, why);
            this.signal.addEventListener('abort', stop, { once: true });
        });
    }
    /** Announces an event and resolves when the harness says `proceed`; at once without the knob `events`. */
    async at(event, detail) {
        if (!this.trial.start.knobs.events)
            return;
        this.trial.say({ type: 'at', turn: this.ref.turn, call: this.ref.ordinal, event, detail });
        await new Promise((resolve) => this.trial.proceeds.push({ event, resolve }));
    }
    /** Puts a question to the human behind the harness. Rejects when the call is stopped. */
    ask(question) {
        return new Promise((resolve, reject) => {
            const stop = () => {
                this.trial.asking.delete(key(this.ref));
                reject(this.signal.reason);
            };
            this.trial.asking.set(key(this.ref), (decision) => {
                this.signal.removeEventListener('abort', stop);
                resolve(decision);
            });
            this.signal.addEventListener('abort', stop, { once: true });
            this.trial.say({ type: 'ask', turn: this.ref.turn, call: this.ref.ordinal, detail: question });
        });
    }
}
export function key(ref) {
    return `${ref.ordinal} of ${ref.turn}`;
}
