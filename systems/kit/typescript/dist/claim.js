/** Claims that the call happened and made these objects. */
export function done(...receipts) {
    return { outcome: 'done', receipts };
}
/** Claims that nothing happened and that nothing will. */
export function failed(detail) {
    return { outcome: 'failed', detail: words(detail) };
}
/** Claims that the call may have happened: the honest word after a lost connection, a time-out or a passed-on 5xx. */
export function unknown(detail) {
    return { outcome: 'unknown', detail: words(detail) };
}
/** Claims that what the receipts name exists and the rest does not. */
export function partial(receipts, detail) {
    return { outcome: 'partial', receipts, ...(detail !== undefined && { detail: words(detail) }) };
}
function words(detail) {
    if (!(detail instanceof Error))
        return String(detail);
    const code = detail.code;
    return `${detail.name}: ${detail.message}${code === undefined ? '' : ` (${String(code)})`}`;
}
