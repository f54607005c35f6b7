//! The wire contract (docs/wire-contract.md) for a client in Rust: orders come on stdin and are acknowledged at
//! once, calls are made one after another, and tokio's clock stands still but for what orders let pass.

mod client;

use client::{Claim, Client};
use serde_json::{json, Value};
use std::collections::{HashSet, VecDeque};
use std::future::Future;
use std::io::{BufRead, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// Says one word.
pub fn say(word: Value) {
    let mut out = std::io::stdout().lock();
    if writeln!(out, "{word}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0); // the harness has gone
    }
}

/// A call that was given, or the repair of one. What is shared with the client's hooks is in here.
pub struct Call {
    pub turn: String,
    pub ordinal: i64,
    pub given: Value,
    pub state: Mutex<State>,
}

#[derive(Default)]
pub struct State {
    /// Whether anything of the call may have left, by an earlier process or the call before a repair too.
    pub left: bool,
    waiting: bool,
}

impl Call {
    /// Says that nothing happens before that much virtual time has passed; the sleep itself is tokio's.
    pub fn wait(&self, time: Duration, why: &str) {
        self.state.lock().unwrap().waiting = true;
        let whole = Duration::from_millis(time.as_nanos().div_ceil(1_000_000) as u64); // tokio's timers keep milliseconds
        say(json!({"type": "wait", "turn": self.turn, "call": self.ordinal, "why": why, "until": clock::after(whole)}));
    }

    /// Withdraws what wait said, if its time has not come.
    pub fn waits_no_more(&self) {
        if std::mem::take(&mut self.state.lock().unwrap().waiting) {
            say(json!({"type": "wait", "turn": self.turn, "call": self.ordinal}));
        }
    }

    /// The time that wait told of has come.
    pub fn slept(&self) {
        self.state.lock().unwrap().waiting = false;
    }

    fn is(&self, turn: &str, ordinal: i64) -> bool {
        self.turn == turn && self.ordinal == ordinal
    }
}

/// Virtual time.
mod clock {
    use super::{Duration, Mutex, SystemTime};

    static NOW: Mutex<SystemTime> = Mutex::new(SystemTime::UNIX_EPOCH);

    /// Takes over the time of an order and returns by how many whole milliseconds tokio's clock is to be advanced.
    pub fn set(text: &str) -> Result<Duration, String> {
        let now = client_time(text)?;
        let mut was = NOW.lock().unwrap();
        let step = ceil(now).saturating_sub(ceil(*was));
        let first = *was == SystemTime::UNIX_EPOCH;
        *was = now;
        Ok(if first { Duration::ZERO } else { step })
    }

    /// RFC 3339 of that long after now.
    pub fn after(time: Duration) -> String {
        humantime::format_rfc3339_nanos(*NOW.lock().unwrap() + time).to_string()
    }

    fn client_time(text: &str) -> Result<SystemTime, String> {
        humantime::parse_rfc3339(text).map_err(|e| format!("now is {text:?}, expected a time by RFC 3339: {e}"))
    }

    fn ceil(time: SystemTime) -> Duration {
        let nanos = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        Duration::from_millis(nanos.div_ceil(1_000_000) as u64)
    }
}

type Running = Pin<Box<dyn Future<Output = Claim>>>;

/// An open trial.
struct Trial {
    client: Arc<Client>,
    queue: VecDeque<Arc<Call>>,
    stopped: HashSet<(String, i64)>,
    open: Option<(Arc<Call>, Running)>,
    seq: Value,
    owes_idle: bool,
}

impl Trial {
    fn hand(&mut self, turn: &str, given: &Value, ordinal: i64, again: bool) {
        self.stopped.remove(&(turn.to_string(), ordinal));
        let state = Mutex::new(State { left: again, waiting: false });
        self.queue.push_back(Arc::new(Call { turn: turn.into(), ordinal, given: given.clone(), state }));
    }

    fn take(&mut self, order: &Value) {
        match order["type"].as_str() {
            Some("turn") => {
                let turn = &order["turn"];
                for call in turn["calls"].as_array().into_iter().flatten() {
                    self.hand(text(&turn["id"]), call, call["ordinal"].as_i64().unwrap_or(0), turn["redelivered"] == true);
                }
            }
            Some("repair") => {
                let repair = &order["repair"];
                self.hand(text(&repair["turn"]), &repair["call"], repair["ordinal"].as_i64().unwrap_or(0), true);
            }
            Some("cancel") => {
                let (turn, ordinal) = (text(&order["cancel"]["turn"]), order["cancel"]["ordinal"].as_i64().unwrap_or(0));
                self.stopped.insert((turn.to_string(), ordinal));
                if self.open.as_ref().is_some_and(|(call, _)| call.is(turn, ordinal)) {
                    let (call, running) = self.open.take().unwrap();
                    drop(running); // which gives the request up by a disconnect
                    call.waits_no_more();
                    let left = call.state.lock().unwrap().left;
                    claim(&call, if left { Claim::unknown("cancelled") } else { Claim::failed("cancelled before anything was sent") });
                }
            }
            _ => {} // a clock, or what this system cannot: it owes no more than the idle
        }
        self.owes_idle |= order["type"] != "clock";
    }

    /// Begins the next call, or says idle when there is none.
    fn go_on(&mut self) {
        while self.open.is_none() {
            let Some(call) = self.queue.pop_front() else { break };
            if self.stopped.contains(&(call.turn.clone(), call.ordinal)) {
                claim(&call, Claim::failed("cancelled before anything was sent"));
                continue;
            }
            let client = self.client.clone();
            let given = call.clone();
            self.open = Some((call, Box::pin(async move { client.call(given).await })));
        }
        if self.open.is_none() && std::mem::take(&mut self.owes_idle) {
            say(json!({"type": "finished"}));
            say(json!({"type": "idle", "seq": self.seq}));
        }
    }
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn claim(call: &Call, claim: Claim) {
    say(json!({"type": "claim", "turn": call.turn, "call": call.ordinal,
        "outcome": claim.outcome, "receipts": claim.receipts, "detail": claim.detail}));
}

/// Serves trials until stdin ends.
async fn serve(tuned: bool) -> Result<(), String> {
    let (orders, mut lines) = tokio::sync::mpsc::unbounded_channel();
    // As long as this runs, tokio's paused clock does not advance by itself.
    tokio::task::spawn_blocking(move || {
        for line in std::io::stdin().lock().lines() {
            if orders.send(line).is_err() {
                return;
            }
        }
    });
    let mut trial: Option<Trial> = None;
    loop {
        let running = async {
            match trial.as_mut().and_then(|t| t.open.as_mut()) {
                Some((_, running)) => running.await,
                None => std::future::pending().await,
            }
        };
        let line = tokio::select! {
            biased;
            line = lines.recv() => line,
            said = running => {
                let trial = trial.as_mut().unwrap();
                let (call, _) = trial.open.take().unwrap();
                claim(&call, said);
                trial.go_on();
                continue;
            }
        };
        let Some(line) = line else { return Ok(()) };
        let line = line.map_err(|e| format!("read of an order: {e}"))?;
        let order: Value = serde_json::from_str(&line).map_err(|e| format!("order {line}: {e}"))?;
        let ack = json!({"type": "ack", "seq": order["seq"]});
        let step = clock::set(text(&order["now"]))?;
        match text(&order["type"]) {
            "start" => {
                let client = Arc::new(Client::new(&order["start"], tuned)?);
                trial = Some(Trial { client, queue: VecDeque::new(), stopped: HashSet::new(), open: None, seq: Value::Null, owes_idle: false });
                say(json!({"type": "started", "wire": 1, "kill": "the process group", "versions": {"reqwest-retry": "0.9.1", "reqwest": "0.13.5"},
                    "can": ["cancel", "clock", "repair", "reset", "timeout", "turn", "wait"]}));
                say(ack);
            }
            "reset" => {
                trial = None; // and with it the client and its connections
                say(ack);
            }
            _ => {
                let trial = trial.as_mut().ok_or(format!("order before start: {line}"))?;
                trial.seq = order["seq"].clone();
                say(ack);
                tokio::time::advance(step).await;
                trial.take(&order);
                trial.go_on();
            }
        }
    }
}

fn main() {
    let tuned = std::env::args().nth(1).as_deref() == Some("tuned");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime of tokio");
    let ended = runtime.block_on(serve(tuned));
    if let Err(e) = &ended {
        eprintln!("adapter: {e}");
        say(json!({"type": "error", "detail": e}));
    }
    std::process::exit(ended.is_err() as i32); // the reader of stdin may still be at it
}
