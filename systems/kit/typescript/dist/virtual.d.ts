import net from 'node:net';
/** An alarm rings once, when virtual time reaches until. */
export interface Alarm {
    /** Milliseconds of virtual time. */
    until: number;
    /** The delay that was asked for, in milliseconds. */
    readonly length: number;
    /** The call that was open when it was set. */
    readonly owner: unknown;
    readonly ring: () => void;
    readonly socket?: {
        self: net.Socket;
        bytes: number;
    };
}
/** What the kit tells this module, and what it is told. */
export declare const hooks: {
    owner: () => unknown;
    changed: () => void;
};
/** Virtual time in milliseconds; outside a trial the machine's. */
export declare function now(): number;
/** Opens a trial's time. */
export declare function begin(at: number): void;
/** Closes it: nothing that is set rings any more. */
export declare function end(): void;
/** Moves time and rings what is due, the earliest first. */
export declare function advance(to: number): void;
/** What is set. */
export declare function pending(): Iterable<Alarm>;
/** Sets an alarm; the answer takes it back. */
export declare function set(length: number, ring: () => void, socket?: net.Socket): Alarm;
export declare function drop(alarm: Alarm | undefined): void;
