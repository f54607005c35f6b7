/**
 * Makes an adapter of a system under sixthcopy one function. Imported first, before what is adapted: it puts virtual time under it.
 *
 *     import { lost, main, read, request } from 'sixthcopy-kit';
 *     import { postWithRetries } from './mine.js';
 *
 *     main({
 *       async call(c) {
 *         try {
 *           const answer = await postWithRetries(await request(c), c.signal);
 *           return read(c, answer.status, answer.body);
 *         } catch (error) {
 *           return lost(c, error);
 *         }
 *       },
 *     });
 *
 * Calls run one after another, in the order in which they were handed over.
 */
import './virtual.js';

export { main, type Adapter, type Totals } from './kit.js';
export { done, failed, partial, unknown, type Claim } from './claim.js';
export { request, read, lost, type RequestOptions, type ToolRequest } from './tools.js';
export { refused } from './exchanges.js';
export { Call, Stopped } from './call.js';
export { Trial } from './trial.js';
export type * from './wire.js';
