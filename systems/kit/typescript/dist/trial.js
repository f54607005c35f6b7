import { Call, Stopped, key } from './call.js';
import { failed, unknown } from './claim.js';
import * as exchanges from './exchanges.js';
import * as virtual from './virtual.js';
/** An open trial. value is the adapter's own. */
export class Trial {
    start;
    adapter;
    write;
    value;
    /** @internal The call in work. */
    current;
    /** @internal */
    proceeds = [];
    /** @internal */
    asking = new Map();
    /** @internal */
    sessions = new Map();
    /** @internal */
    rpcIds = 0;
    /** @internal The last order. */
    seq = 0;
    #made = new Map();
    #queue = [];
    #turns = new Map();
    #calls = new Map();
    #stopped = new Map();
    #said = new Map(); // what the waits of the current call are said to be, by why
    #working = false;
    #closed = false;
    #looking = false;
    constructor(start, 
    /** @internal */
    adapter, write) {
        this.start = start;
        this.adapter = adapter;
        this.write = write;
    }
    /** What make makes of this trial: once, and dropped with it. */
    once(make) {
        if (!this.#made.has(make))
            this.#made.set(make, make(this));
        return this.#made.get(make);
    }
    /** Virtual time. */
    get now() { return new Date(virtual.now()); }
    /** @internal */
    say(word) {
        if (!this.#closed)
            this.write(word);
    }
    /** Says what the system claims of a call. An adapter's call returns its claim instead. */
    claim(ref, claim) {
        this.say({ type: 'claim', turn: ref.turn, call: ref.ordinal, outcome: claim.outcome, receipts: claim.receipts, detail: claim.detail });
    }
    /** @internal Takes an order that is not start or reset; acknowledge is called before anything that it sets off. */
    take(order, acknowledge) {
        this.seq = order.seq;
        if (order.type === 'turn' && order.turn) {
            acknowledge();
            this.#handOver(order.turn);
        }
        else if (order.type === 'repair' && order.repair) {
            acknowledge();
            const { turn, ordinal, call } = order.repair;
            this.#stopped.delete(key({ turn, ordinal }));
            this.#push(new Call(this, this.#turn(turn), call, { turn, ordinal }, true, false));
        }
        else if (order.type === 'cancel' && order.cancel) {
            acknowledge();
            this.#stop(order.cancel, 'cancelled');
        }
        else if (order.type === 'decide' && order.decide) {
            acknowledge();
            this.#decide(order.decide, order.decide.decision);
        }
        else if (order.type === 'event' && order.event) {
            acknowledge();
            const { event } = order;
            this.#queue.push(() => this.adapter.event?.(this, event));
        }
        else if (order.type === 'proceed' && order.proceed) {
            acknowledge();
            const { event } = order.proceed;
            const at = this.proceeds.findIndex((p) => p.event === event);
            if (at >= 0)
                this.proceeds.splice(at, 1)[0]?.resolve();
        }
        else if (order.type === 'clock') {
            acknowledge();
        }
        else {
            throw new Error(`order ${order.seq}: type ${JSON.stringify(order.type)} with its part is not known; expected start, turn, repair, cancel, decide, event, clock, proceed or reset`);
        }
        const at = instant(order);
        for (const [why, until] of this.#said) {
            if (until <= at)
                this.#said.delete(why); // that wait is over
        }
        virtual.advance(at);
        if (order.type !== 'clock' && order.type !== 'proceed') {
            this.#queue.push(() => undefined); // whatever it set off, an idle follows
        }
        void this.#work();
    }
    /** @internal Closes the trial; false: something of it is still under way in this process. */
    close() {
        this.#closed = true;
        this.current?.controller.abort(new Stopped('closed'));
        this.adapter.close?.(this);
        return !this.current && exchanges.open.size === 0;
    }
    /** @internal Looks, when the library has done what it does now, what its waits are, and says what has changed. */
    look() {
        if (this.#looking || this.#closed || !this.current)
            return;
        this.#looking = true;
        setImmediate(() => {
            this.#looking = false;
            this.#sayWaits();
        });
    }
    #sayWaits() {
        const call = this.current;
        if (!call || this.#closed)
            return;
        const waits = new Map();
        const wait = (why, until) => {
            waits.set(why, Math.min(until, waits.get(why) ?? until));
        };
        for (const alarm of virtual.pending()) {
            const why = call.waits.get(alarm);
            if (why !== undefined)
                wait(why, alarm.until);
            else if (alarm.owner !== call)
                continue;
            else if (alarm.length === call.timeout)
                wait('time-out', alarm.until);
            else if (!alarm.socket && call.exchanges.unanswered.size === 0)
                wait('back-off', alarm.until);
        }
        this.#tell(call, waits);
    }
    #tell(call, waits) {
        const { turn, ordinal } = call.ref;
        for (const why of this.#said.keys()) {
            if (waits.has(why))
                continue;
            this.#said.delete(why);
            this.say({ type: 'wait', turn, call: ordinal, until: '', why });
        }
        for (const [why, until] of waits) {
            if (this.#said.get(why) === until)
                continue;
            this.#said.set(why, until);
            this.say({ type: 'wait', turn, call: ordinal, until: new Date(until).toISOString(), why });
        }
    }
    #turn(id) {
        return this.#turns.get(id) ?? { id };
    }
    #handOver(turn) {
        this.#turns.set(turn.id, turn);
        for (const given of turn.calls ?? []) {
            const ref = { turn: turn.id, ordinal: given.ordinal };
            const redelivered = turn.redelivered ?? false;
            this.#stopped.delete(key(ref));
            this.#calls.set(key(ref), { given, redelivered });
            this.#push(new Call(this, turn, given, ref, false, redelivered));
        }
    }
    #push(call) {
        this.#queue.push(() => this.#run(call, () => this.adapter.call(call)));
    }
    #stop(ref, why) {
        const stopped = new Stopped(why);
        if (this.current && key(this.current.ref) === key(ref))
            this.current.controller.abort(stopped);
        this.#stopped.set(key(ref), stopped);
    }
    #decide(ref, decision) {
        const asked = this.asking.get(key(ref));
        if (asked) {
            this.asking.delete(key(ref));
            asked(decision);
            return;
        }
        if (decision !== 'approved')
            this.#stop(ref, 'withdrawn');
        const { decide } = this.adapter;
        const known = this.#calls.get(key(ref));
        if (!decide || !known)
            return;
        const call = new Call(this, this.#turn(ref.turn), known.given, ref, false, known.redelivered);
        this.#queue.push(() => {
            this.#stopped.delete(key(ref)); // it stopped the call; what is decided now may take its time
            return this.#run(call, () => decide.call(this.adapter, call, decision));
        });
    }
    async #run(call, carryOut) {
        const stopped = this.#stopped.get(key(call.ref));
        if (stopped) {
            // Nothing of this call was sent, by this process.
            const claim = call.redelivered || call.repair ? unknown : failed;
            this.claim(call.ref, claim(stopped));
            return;
        }
        this.current = call;
        let deadline;
        if (call.timeout && this.adapter.timeout !== 'library') {
            deadline = virtual.set(call.timeout, () => call.controller.abort(new Stopped('timed out')));
        }
        let claim;
        try {
            claim = await carryOut();
        }
        catch (error) { // an adapter does not throw: nobody knows what it has done
            const story = error instanceof Error ? error.stack ?? error.message : String(error);
            this.say({ type: 'error', detail: story });
            claim = unknown(error);
        }
        virtual.drop(deadline);
        this.#tell(call, new Map());
        this.current = undefined;
        if (claim)
            this.claim(call.ref, claim);
    }
    async #work() {
        if (this.#working || this.#queue.length === 0)
            return;
        this.#working = true;
        for (let next = this.#queue.shift(); next && !this.#closed; next = this.#queue.shift())
            await next();
        this.#working = false;
        if (this.#closed)
            return;
        const totals = this.adapter.totals?.(this) ?? {};
        this.say({ type: 'finished', escalations: totals.escalations, ledger_bytes: totals.ledgerBytes, tokens: totals.tokens });
        this.say({ type: 'idle', seq: this.seq });
    }
}
/** The virtual time of an order, in milliseconds. */
export function instant(order) {
    const at = Date.parse(order.now);
    if (Number.isNaN(at))
        throw new Error(`order ${order.seq} (${order.type}): now is ${JSON.stringify(order.now)}, expected a time by RFC 3339`);
    return at;
}
