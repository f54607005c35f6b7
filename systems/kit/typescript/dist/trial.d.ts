import { Call } from './call.js';
import { type Claim } from './claim.js';
import type { Adapter } from './kit.js';
import type { CallRef, Decision, Order, Start, Word } from './wire.js';
/** An open trial. value is the adapter's own. */
export declare class Trial {
    #private;
    readonly start: Start;
    /** @internal */
    readonly adapter: Adapter;
    private readonly write;
    value: unknown;
    /** @internal The call in work. */
    current: Call | undefined;
    /** @internal */
    readonly proceeds: {
        event: string;
        resolve: () => void;
    }[];
    /** @internal */
    readonly asking: Map<string, (decision: Decision) => void>;
    /** @internal */
    readonly sessions: Map<string, string>;
    /** @internal */
    rpcIds: number;
    /** @internal The last order. */
    seq: number;
    constructor(start: Start, 
    /** @internal */
    adapter: Adapter, write: (word: Word) => void);
    /** What make makes of this trial: once, and dropped with it. */
    once<T>(make: (trial: Trial) => T): T;
    /** Virtual time. */
    get now(): Date;
    /** @internal */
    say(word: Word): void;
    /** Says what the system claims of a call. An adapter's call returns its claim instead. */
    claim(ref: CallRef, claim: Claim): void;
    /** @internal Takes an order that is not start or reset; acknowledge is called before anything that it sets off. */
    take(order: Order, acknowledge: () => void): void;
    /** @internal Closes the trial; false: something of it is still under way in this process. */
    close(): boolean;
    /** @internal Looks, when the library has done what it does now, what its waits are, and says what has changed. */
    look(): void;
}
/** The virtual time of an order, in milliseconds. */
export declare function instant(order: Order): number;
