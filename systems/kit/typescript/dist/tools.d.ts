import type { Call } from './call.js';
import { type Claim } from './claim.js';
/** The HTTP request that calls a tool. The body is the same bytes at every try. */
export interface ToolRequest {
    url: string;
    method: 'POST';
    headers: Record<string, string>;
    body: string;
}
export interface RequestOptions {
    /** An idempotency key: into the header Idempotency-Key, and into the argument idempotency_key of a tool that takes one. */
    key?: string;
    headers?: Record<string, string>;
}
/** Makes the request that calls the tool of a call: plain JSON or one MCP POST, as it is offered. */
export declare function request(call: Call, { key, headers }?: RequestOptions): Promise<ToolRequest>;
/**
 * Reads the answer to a request into a claim, by this try alone, as the caller of a retry layer does that is told nothing of
 * the others. The body is its text, or what a library has read from it.
 *
 * The tool's own word counts: done, partial, refused; not_executed where the contract says that its errors can be
 * believed. HTTP 4xx without such a word is failed, but for 408, 409, 429 and the 404 of a session that is gone.
 * Anything else is unknown. A call that only reads has failed then: it can do no harm.
 */
export declare function read(call: Call, status: number, body: unknown): Claim;
/**
 * The claim of a call that ended in an error without an answer. It failed if nothing of it can have left: every dial of
 * it was refused, or it was stopped before it was sent. For an earlier process, or the call that this one
 * repairs, nobody can say that.
 */
export declare function lost(call: Call, error: unknown): Claim;
