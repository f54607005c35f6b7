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
export function done(...receipts: string[]): Claim {
  return { outcome: 'done', receipts };
}

/** Claims that nothing happened and that nothing will. */
export function failed(detail: unknown): Claim {
  return { outcome: 'failed', detail: words(detail) };
}

/** Claims that the call may have happened: the honest word after a lost connection, a time-out or a passed-on 5xx. */
export function unknown(detail: unknown): Claim {
  return { outcome: 'unknown', detail: words(detail) };
}

/** Claims that what the receipts name exists and the rest does not. */
export function partial(receipts: string[], detail?: unknown): Claim {
  return { outcome: 'partial', receipts, ...(detail !== undefined && { detail: words(detail) }) };
}

function words(detail: unknown): string {
  if (!(detail instanceof Error)) return String(detail);
  const code = (detail as { code?: unknown }).code;
  return `${detail.name}: ${detail.message}${code === undefined ? '' : ` (${String(code)})`}`;
}
