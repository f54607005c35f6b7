import type { Outcome } from './wire.js';
/** What a system says of a call. */
export interface Claim {
    outcome: Outcome;
    /** Ids of the objects that it made. */
    receipts?: string[];
    /** For the reader. */
    detail?: string;
}
/** Claims that the call happened and made these objects. */
export declare function done(...receipts: string[]): Claim;
/** Claims that nothing happened and that nothing will. */
export declare function failed(detail: unknown): Claim;
/** Claims that the call may have happened: the honest word after a lost connection, a time-out or a passed-on 5xx. */
export declare function unknown(detail: unknown): Claim;
/** Claims that what the receipts name exists and the rest does not. */
export declare function partial(receipts: string[], detail?: unknown): Claim;
