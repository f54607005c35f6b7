import { Exchanges } from './exchanges.js';
import type { Trial } from './trial.js';
import * as virtual from './virtual.js';
import type { CallRef, Decision, GivenCall, Tool, Turn } from './wire.js';
/** Why a call is stopped: the reason of its signal. */
export declare class Stopped extends Error {
    readonly why: 'cancelled' | 'withdrawn' | 'timed out' | 'closed';
    readonly name = "AbortError";
    constructor(why: 'cancelled' | 'withdrawn' | 'timed out' | 'closed');
}
/** A call handed to the system: given in a turn, or the repair of one. */
export declare class Call {
    readonly trial: Trial;
    /** As handed over; of a turn of an earlier process the id only. */
    readonly turn: Turn;
    readonly given: GivenCall;
    /** The call that it is, or that it repairs. */
    readonly ref: CallRef;
    readonly repair: boolean;
    /** The turn was handed over before, to an earlier process. */
    readonly redelivered: boolean;
    /** Fires when the call is cancelled, its goal withdrawn, the trial closed, or the time-out of the call reached. */
    readonly signal: AbortSignal;
    /** @internal */
    readonly exchanges: Exchanges;
    /** @internal */
    readonly waits: Map<virtual.Alarm, string>;
    /** @internal */
    readonly controller: AbortController;
    /** @internal */
    rpcId: number;
    constructor(trial: Trial, 
    /** As handed over; of a turn of an earlier process the id only. */
    turn: Turn, given: GivenCall, 
    /** The call that it is, or that it repairs. */
    ref: CallRef, repair: boolean, 
    /** The turn was handed over before, to an earlier process. */
    redelivered: boolean);
    /** The tool, as it is offered. */
    get tool(): Tool;
    /** Virtual time. */
    get now(): Date;
    /** The time-out of a call in milliseconds, for the library's own setting; undefined: none. */
    get timeout(): number | undefined;
    /** Whether anything of this call can have left: a request was made, and its dial was not refused. */
    get left(): boolean;
    /** Sleeps until virtual time reaches until; why is for the reader: "back-off", "look-up lag". Rejects when the call is stopped. */
    wait(until: Date, why: string): Promise<void>;
    /** Announces an event and resolves when the harness says `proceed`; at once without the knob `events`. */
    at(event: string, detail?: string): Promise<void>;
    /** Puts a question to the human behind the harness. Rejects when the call is stopped. */
    ask(question: string): Promise<Decision>;
}
export declare function key(ref: CallRef): string;
