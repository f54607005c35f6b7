// Calls of tools, for retry layers that send an HTTP request: what to send, and what the answer says.
import http from 'node:http';
import { done, failed, partial, unknown } from './claim.js';
import { own } from './exchanges.js';
// Versions of MCP, of servers without sessions and with them.
const stateless = '2026-07-28';
const withSessions = '2025-11-25';
/** Makes the request that calls the tool of a call: plain JSON or one MCP POST, as it is offered. */
export async function request(call, { key, headers = {} } = {}) {
    const { tool, given, trial } = call;
    call.rpcId ||= ++trial.rpcIds; // counted from 1 in every process, as new connections do
    const args = key !== undefined && tool.takes_key ? { ...given.args, idempotency_key: key } : given.args;
    const meta = { 'sixthcopy/call_id': given.id };
    const sent = { ...headers, ...(key !== undefined && { 'Idempotency-Key': key }) };
    switch (tool.transport) {
        case 'json':
            return post(`${tool.address.replace(/\/$/, '')}/tools/${tool.name}`, { arguments: args, call_id: given.id, request_id: String(call.rpcId) }, sent);
        case 'mcp-sessions':
            Object.assign(sent, session(await open(call)));
            break;
        case 'mcp':
            // A server that takes the request for one of an older protocol takes no disconnect for a cancellation.
            Object.assign(meta, { 'io.modelcontextprotocol/protocolVersion': stateless, 'io.modelcontextprotocol/clientCapabilities': {} });
            Object.assign(sent, { 'Mcp-Protocol-Version': stateless, 'Mcp-Method': 'tools/call', 'Mcp-Name': tool.name });
            break;
        default:
            throw new Error(`tool ${tool.name} has transport ${tool.transport}, expected json, mcp or mcp-sessions: what a provider offers itself is called by its SDK`);
    }
    return post(tool.address, rpc(call.rpcId, 'tools/call', { name: tool.name, arguments: args, _meta: meta }), sent);
}
function rpc(id, method, params) {
    return { jsonrpc: '2.0', id, method, params };
}
function post(url, message, headers) {
    return {
        url, method: 'POST', body: JSON.stringify(message),
        headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers },
    };
}
function session(id) {
    return { 'Mcp-Session-Id': id, 'Mcp-Protocol-Version': withSessions };
}
/** The session with an MCP server that keeps them, opened at the first call. What opens it is no part of the call, and no retry layer sends it. */
async function open(call) {
    const { sessions } = call.trial;
    const { address } = call.tool;
    const known = sessions.get(address);
    if (known !== undefined)
        return known;
    const hello = await send(call, post(address, rpc(0, 'initialize', {
        protocolVersion: withSessions, capabilities: {}, clientInfo: { name: 'sixthcopy-kit', version: '0.1.0' },
    }), {}));
    const id = hello['mcp-session-id'];
    if (typeof id !== 'string')
        throw new Error(`${address} names no session`);
    await send(call, post(address, { jsonrpc: '2.0', method: 'notifications/initialized' }, session(id)));
    sessions.set(address, id);
    return id;
}
function send(call, { url, method, headers, body }) {
    return new Promise((resolve, reject) => {
        const outgoing = http.request(url, { method, headers, signal: call.signal, agent: false }, (answer) => {
            answer.on('error', reject).on('end', () => resolve(answer.headers)).resume();
        });
        own.add(outgoing);
        outgoing.on('error', reject).end(body);
    });
}
/**
 * Reads the answer to a request into a claim, by this try alone, as the caller of a retry layer does that is told nothing of
 * the others. The body is its text, or what a library has read from it.
 *
 * The tool's own word counts: done, partial, refused; not_executed where the contract says that its errors can be
 * believed. HTTP 4xx without such a word is failed, but for 408, 409, 429 and the 404 of a session that is gone.
 * Anything else is unknown. A call that only reads has failed then: it can do no harm.
 */
export function read(call, status, body) {
    const { tool } = call;
    const said = answer(tool.transport, body);
    const detail = `HTTP ${status}: ${said?.message ?? `an answer that cannot be read: ${String(body).slice(0, 200)}`}`;
    const open = tool.read_only ? failed : unknown;
    switch (said?.status) {
        case undefined:
        case '':
            break;
        case 'done':
            return done(...said.receipts ?? []);
        case 'partial':
            return partial(said.receipts ?? [], said.message);
        case 'refused':
            return failed(detail);
        case 'not_executed':
            return tool.contract.errors_typed ? failed(detail) : open(detail);
        default: // unknown, conflict
            return open(detail);
    }
    if (status === 404 && tool.transport === 'mcp-sessions') {
        call.trial.sessions.delete(tool.address);
        return open('the session is gone');
    }
    const spared = status === 408 || status === 409 || status === 429;
    return status >= 400 && status < 500 && !spared ? failed(detail) : open(detail);
}
/**
 * The claim of a call that ended in an error without an answer. It failed if nothing of it can have left: every dial of
 * it was refused, or it was stopped before it was sent. For an earlier process, or the call that this one
 * repairs, nobody can say that.
 */
export function lost(call, error) {
    if (call.tool.read_only || !call.left && !call.redelivered && !call.repair)
        return failed(error);
    return unknown(error);
}
/** The tool's answer in a body; undefined where there is none: it is that of something in between, or cut short. */
function answer(transport, body) {
    if (transport === 'json') {
        const said = json(body);
        return said && (said.status || said.message) ? said : undefined;
    }
    const message = json(typeof body === 'string' ? lastEvent(body) : body);
    if (message?.error)
        return { message: message.error.message ?? '' };
    if (!message?.result)
        return undefined;
    return message.result.structuredContent ?? { message: message.result.content?.[0]?.text ?? '' };
}
/** The last whole event of a stream with a body in it; a body that is none is itself. */
function lastEvent(text) {
    if (!/^(event|data|id|retry|:)/.test(text))
        return text;
    const events = text.replaceAll('\r\n', '\n').split('\n\n').slice(0, -1);
    const data = events.map((e) => e.split('\n').filter((l) => l.startsWith('data:')).map((l) => l.slice(5).trimStart()).join('\n'));
    return data.filter((d) => d !== '').at(-1) ?? '';
}
function json(body) {
    try {
        const value = typeof body === 'string' ? JSON.parse(body) : body;
        return typeof value === 'object' && value !== null ? value : undefined;
    }
    catch {
        return undefined;
    }
}
