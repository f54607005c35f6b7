import http from 'node:http';
import net from 'node:net';
import { createInterface } from 'node:readline';
import type { Call } from './call.js';
import type { Claim } from './claim.js';
import { watch } from './exchanges.js';
import { Trial, instant } from './trial.js';
import * as virtual from './virtual.js';
import { wireVersion, type Decision, type Order, type ProviderEvent, type Word } from './wire.js';

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

// What a library prints is for the log: stdout carries words of the contract only.
const stdout = process.stdout.write.bind(process.stdout) as (text: string) => boolean;
process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;

/** Drives the adapter until the harness goes. Orders come on stdin, or on the connection that the command line names. */
export function main(adapter: Adapter): void {
  const [host, token] = [option('--dial'), option('--token')];
  let write = stdout;
  let orders: NodeJS.ReadableStream = process.stdin;
  if (host !== undefined) {
    const [, address, port] = /^(.*):(\d+)$/.exec(host) ?? [];
    const connection = net.connect(Number(port), address);
    write = (text) => connection.write(text);
    orders = connection;
    write(JSON.stringify({ type: 'hello', token }) + '\n');
  }
  const say = (word: Word): void => { write(JSON.stringify(word) + '\n'); };
  let trial: Trial | undefined;
  virtual.hooks.owner = () => trial?.current;
  virtual.hooks.changed = () => trial?.look();
  watch(() => trial?.current?.exchanges);

  const start = async (order: Order): Promise<void> => {
    if (!order.start) throw new Error(`order ${order.seq}: start without its part`);
    if (trial) throw new Error(`order ${order.seq}: start while a trial is open; a reset comes first`);
    if (order.start.wire !== wireVersion) throw new Error(`order ${order.seq}: wire version is ${order.start.wire}, expected ${wireVersion}`);
    virtual.begin(instant(order));
    const opened = new Trial(order.start, adapter, say);
    opened.seq = order.seq;
    trial = opened;
    await adapter.open?.(opened);
    say({ type: 'started', wire: wireVersion, versions: adapter.versions, can: adapter.can ?? can(adapter), kill: adapter.kill ?? 'the process group' });
    say({ type: 'ack', seq: order.seq });
  };
  const reset = (order: Order): void => {
    const quiet = trial?.close();
    virtual.end();
    trial = undefined;
    http.globalAgent.destroy();
    // What a library goes on with by itself must not meet the next trial: a new process takes that.
    if (!quiet) process.exit(0);
    say({ type: 'ack', seq: order.seq });
  };
  const take = (order: Order): Promise<void> | void => {
    if (order.type === 'start') return start(order);
    if (!trial) throw new Error(`order ${order.seq} (${order.type}) before start`);
    if (order.type === 'reset') return reset(order);
    trial.take(order, () => say({ type: 'ack', seq: order.seq }));
  };
  const refuse = (error: unknown): void => {
    const detail = error instanceof Error ? error.message : String(error);
    console.error(error);
    say({ type: 'error', detail });
    process.exit(1);
  };

  // An order is acknowledged as it comes; only the opening of a trial may take its time.
  let opening: Promise<void> | undefined;
  createInterface({ input: orders, crlfDelay: Infinity }).on('line', (line) => {
    const carryOut = (): Promise<void> | void => take(parse(line));
    try {
      if (opening) {
        opening = opening.then(carryOut);
      } else {
        const begun = carryOut();
        if (begun) opening = begun.finally(() => { opening = undefined; });
      }
      opening?.catch(refuse);
    } catch (error) {
      refuse(error);
    }
  }).on('close', () => process.exit(0));
}

function option(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

function parse(line: string): Order {
  try {
    return JSON.parse(line) as Order;
  } catch (error) {
    throw new Error(`order ${line.slice(0, 200)}: ${String(error)}`);
  }
}

function can(adapter: Adapter): string[] {
  return ['cancel', 'clock', 'decide', ...(adapter.event ? ['event'] : []), 'repair', 'reset', 'timeout', 'turn', 'wait'];
}

