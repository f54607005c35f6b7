import type { Call } from './call.js';
import type { Claim } from './claim.js';
import { Trial } from './trial.js';
import { type Decision, type ProviderEvent } from './wire.js';
/** A system as the kit drives it. */
export interface Adapter {
    /** Carries out one call that was given, or the repair of one, and says what became of it. */
    call(call: Call): Promise<Claim | undefined> | Claim | undefined;
    /** Of what is adapted, by name. */
    versions?: Record<string, string>;
    /** Abilities; without it those that the kit gives any adapter that heeds call.signal. */
    can?: string[];
    /** What a kill hits; default: the process group. */
    kill?: string;
    /** Who owns the time-out of a call: `call` (default), its signal; `library`, which gets call.timeout as its own setting. */
    timeout?: 'call' | 'library';
    /** Opens a trial, before its first turn. */
    open?(trial: Trial): Promise<void> | void;
    /** Hears a decision on a call that is not waiting in ask, after the call itself. */
    decide?(call: Call, decision: Decision): Promise<Claim | undefined> | Claim | undefined;
    /** Hears a provider's event. */
    event?(trial: Trial, event: ProviderEvent): Promise<void> | void;
    /** The figures of the trial so far. */
    totals?(trial: Trial): Totals;
    /** Closes a trial: nothing of it may be left in the process. */
    close?(trial: Trial): void;
}
export interface Totals {
    escalations?: number;
    ledgerBytes?: number;
    tokens?: number;
}
/** Drives the adapter until the harness goes. Orders come on stdin, or on the connection that the command line names. */
export declare function main(adapter: Adapter): void;
