/** The exchanges of one call. */
export declare class Exchanges {
    /** Those without an answer: the library waits for them. */
    readonly unanswered: Set<object>;
    started: number;
    refused: number;
    /** Whether anything can have left: some dial of it was not refused. */
    get left(): boolean;
}
/** Requests that the kit makes for itself: no library's, and no part of a call. */
export declare const own: WeakSet<object>;
/** All exchanges that are under way, whosever; an answer that nobody reads to its end is. */
export declare const open: Set<object>;
export declare function watch(current: () => Exchanges | undefined): void;
/** Reports whether a dial was refused: the one error of a connection that proves that nothing was sent. Causes count. */
export declare function refused(error: unknown): boolean;
