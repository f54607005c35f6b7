import { Exchanges } from './exchanges.js';
import type { Trial } from './trial.js';
import * as virtual from './virtual.js';
import type { CallRef, Decision, GivenCall, Tool, Turn } from './wire.js';

/** Why a call is stopped: the reason of its signal. */
export class Stopped extends Error {
  override readonly name = 'AbortError';
  constructor(readonly why: 'cancelled' | 'withdrawn' | 'timed out' | 'closed') {
    super(`the call was stopped: ${why}`);
  }
}

/** A call handed to the system: given in a turn, or the repair of one. */
export class Call {
  /** Fires when the call is cancelled, its goal withdrawn, the trial closed, or the time-out of the call reached. */
  readonly signal: AbortSignal;
  /** @internal */
  readonly exchanges = new Exchanges();
  /** @internal */
  readonly waits = new Map<virtual.Alarm, string>();
  /** @internal */
  readonly controller = new AbortController();
  /** @internal */
  rpcId = 0;

  constructor(
    readonly trial: Trial,
    /** As handed over; of a turn of an earlier process the id only. */
    readonly turn: Turn,
    readonly given: GivenCall,
    /** The call that it is, or that it repairs. */
    readonly ref: CallRef,
    readonly repair: boolean,
    /** The turn was handed over before, to an earlier process. */
    readonly redelivered: boolean,
  ) {
    this.signal = this.controller.signal;
  }

  /** The tool, as it is offered. */
  get tool(): Tool {
    const { tools } = this.trial.start;
    const tool = tools.find((t) => t.name === this.given.tool);
    if (tool) return tool;
    throw new Error(`tool ${this.given.tool} is not offered, expected one of ${tools.map((t) => t.name).join(', ')}`);
  }

  /** Virtual time. */
  get now(): Date { return this.trial.now; }

  /** The time-out of a call in milliseconds, for the library's own setting; undefined: none. */
  get timeout(): number | undefined { return this.trial.start.knobs.call_timeout_ms || undefined; }

  /** Whether anything of this call can have left: a request was made, and its dial was not refused. */
  get left(): boolean { return this.exchanges.left; }

  /** Sleeps until virtual time reaches until; why is for the reader: "back-off", "look-up lag". Rejects when the call is stopped. */
  wait(until: Date, why: string): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.signal.aborted) {
        reject(this.signal.reason as Error);
        return;
      }
      if (until.getTime() <= virtual.now()) {
        resolve();
        return;
      }
      const stop = (): void => {
        virtual.drop(alarm);
        this.waits.delete(alarm);
        reject(this.signal.reason as Error);
      };
      const alarm = virtual.set(until.getTime() - virtual.now(), () => {
        this.signal.removeEventListener('abort', stop);
        this.waits.delete(alarm);
        resolve();
      });
      this.waits.set(alarm, why);
      this.signal.addEventListener('abort', stop, { once: true });
    });
  }

  /** Announces an event and resolves when the harness says `proceed`; at once without the knob `events`. */
  async at(event: string, detail?: string): Promise<void> {
    if (!this.trial.start.knobs.events) return;
    this.trial.say({ type: 'at', turn: this.ref.turn, call: this.ref.ordinal, event, detail });
    await new Promise<void>((resolve) => this.trial.proceeds.push({ event, resolve }));
  }

  /** Puts a question to the human behind the harness. Rejects when the call is stopped. */
  ask(question: string): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        this.trial.asking.delete(key(this.ref));
        reject(this.signal.reason as Error);
      };
      this.trial.asking.set(key(this.ref), (decision) => {
        this.signal.removeEventListener('abort', stop);
        resolve(decision);
      });
      this.signal.addEventListener('abort', stop, { once: true });
      this.trial.say({ type: 'ask', turn: this.ref.turn, call: this.ref.ordinal, detail: question });
    });
  }
}

export function key(ref: CallRef): string {
  return `${ref.ordinal} of ${ref.turn}`;
}
