export declare const wireVersion = 1;
export type Outcome = 'done' | 'failed' | 'unknown' | 'partial' | 'deferred';
export type Decision = 'withdrawn' | 'denied' | 'approved';
export type Transport = 'mcp' | 'mcp-sessions' | 'json' | 'provider';
export type Args = Record<string, unknown>;
/** An order of the harness. Each is acknowledged on receipt. */
export interface Order {
    type: string;
    seq: number;
    now: string;
    start?: Start;
    turn?: Turn;
    repair?: {
        turn: string;
        ordinal: number;
        call: GivenCall;
    };
    cancel?: CallRef;
    decide?: CallRef & {
        decision: Decision;
    };
    event?: ProviderEvent;
    proceed?: {
        event: string;
    };
}
export interface Start {
    wire: number;
    policy?: string;
    state_dir: string;
    restarted?: boolean;
    token?: string;
    tools: Tool[];
    /** Address by kind, for what calls a provider itself. */
    providers?: Record<string, string>;
    model?: string;
    knobs: Knobs;
}
export interface Knobs {
    call_timeout_ms?: number;
    recovery?: 'own' | 'model';
    events?: boolean;
    fresh_connections?: boolean;
}
export interface Tool {
    name: string;
    address: string;
    transport: Transport;
    takes_key: boolean;
    takes_reference: boolean;
    read_only: boolean;
    annotations: Record<string, unknown>;
    arguments?: string[];
    contract: Contract;
}
/** What a provider advertises. */
export interface Contract {
    key_retention_s?: number;
    saves_failures?: boolean;
    look_up_tool?: string;
    look_up_argument?: string;
    look_up_by?: string;
    look_up_kind?: string;
    look_up_lag_s?: number;
    commits_within_s?: number;
    commits_within_known?: boolean;
    unique?: boolean;
    naturally_idempotent?: boolean;
    /** An answer that says "not executed" can be believed. */
    errors_typed?: boolean;
}
export interface CallRef {
    turn: string;
    ordinal: number;
}
/** A turn. The same ids come again when it is redelivered. */
export interface Turn {
    id: string;
    conversation?: string;
    say?: string;
    continues?: string;
    redelivered?: boolean;
    calls?: GivenCall[];
}
export interface GivenCall {
    ordinal: number;
    id: string;
    tool: string;
    args: Args;
}
export interface ProviderEvent {
    kind: string;
    body: Record<string, unknown>;
}
/** A word of the system. */
export interface Word {
    type: 'hello' | 'ack' | 'started' | 'claim' | 'ask' | 'wait' | 'at' | 'idle' | 'finished' | 'error';
    [field: string]: unknown;
}
