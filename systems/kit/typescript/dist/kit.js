import http from 'node:http';
import net from 'node:net';
import { createInterface } from 'node:readline';
import { watch } from './exchanges.js';
import { Trial, instant } from './trial.js';
import * as virtual from './virtual.js';
import { wireVersion } from './wire.js';
// What a library prints is for the log: stdout carries words of the contract only.
const stdout = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr);
/** Drives the adapter until the harness goes. Orders come on stdin, or on the connection that the command line names. */
export function main(adapter) {
    const [host, token] = [option('--dial'), option('--token')];
    let write = stdout;
    let orders = process.stdin;
    if (host !== undefined) {
        const [, address, port] = /^(.*):(\d+)$/.exec(host) ?? [];
        const connection = net.connect(Number(port), address);
        write = (text) => connection.write(text);
        orders = connection;
        write(JSON.stringify({ type: 'hello', token }) + '\n');
    }
    const say = (word) => { write(JSON.stringify(word) + '\n'); };
    let trial;
    virtual.hooks.owner = () => trial?.current;
    virtual.hooks.changed = () => trial?.look();
    watch(() => trial?.current?.exchanges);
    const start = async (order) => {
        if (!order.start)
            throw new Error(`order ${order.seq}: start without its part`);
        if (trial)
            throw new Error(`order ${order.seq}: start while a trial is open; a reset comes first`);
        if (order.start.wire !== wireVersion)
            throw new Error(`order ${order.seq}: wire version is ${order.start.wire}, expected ${wireVersion}`);
        virtual.begin(instant(order));
        const opened = new Trial(order.start, adapter, say);
        opened.seq = order.seq;
        trial = opened;
        await adapter.open?.(opened);
        say({ type: 'started', wire: wireVersion, versions: adapter.versions, can: adapter.can ?? can(adapter), kill: adapter.kill ?? 'the process group' });
        say({ type: 'ack', seq: order.seq });
    };
    const reset = (order) => {
        const quiet = trial?.close();
        virtual.end();
        trial = undefined;
        http.globalAgent.destroy();
        // What a library goes on with by itself must not meet the next trial: a new process takes that.
        if (!quiet)
            process.exit(0);
        say({ type: 'ack', seq: order.seq });
    };
    const take = (order) => {
        if (order.type === 'start')
            return start(order);
        if (!trial)
            throw new Error(`order ${order.seq} (${order.type}) before start`);
        if (order.type === 'reset')
            return reset(order);
        trial.take(order, () => say({ type: 'ack', seq: order.seq }));
    };
    const refuse = (error) => {
        const detail = error instanceof Error ? error.message : String(error);
        console.error(error);
        say({ type: 'error', detail });
        process.exit(1);
    };
    // An order is acknowledged as it comes; only the opening of a trial may take its time.
    let opening;
    createInterface({ input: orders, crlfDelay: Infinity }).on('line', (line) => {
        const carryOut = () => take(parse(line));
        try {
            if (opening) {
                opening = opening.then(carryOut);
            }
            else {
                const begun = carryOut();
                if (begun)
                    opening = begun.finally(() => { opening = undefined; });
            }
            opening?.catch(refuse);
        }
        catch (error) {
            refuse(error);
        }
    }).on('close', () => process.exit(0));
}
function option(name) {
    const at = process.argv.indexOf(name);
    return at < 0 ? undefined : process.argv[at + 1];
}
function parse(line) {
    try {
        return JSON.parse(line);
    }
    catch (error) {
        throw new Error(`order ${line.slice(0, 200)}: ${String(error)}`);
    }
}
function can(adapter) {
    return ['cancel', 'clock', 'decide', ...(adapter.event ? ['event'] : []), 'repair', 'reset', 'timeout', 'turn', 'wait'];
}
