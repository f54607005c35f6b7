//! reqwest with reqwest-retry: one POST a call.

use crate::{text, Call};
use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next};
use reqwest_retry::policies::ExponentialBackoff;
use reqwest_retry::{RetryDecision, RetryPolicy, RetryTransientMiddleware};
use serde_json::{json, Value};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// Versions of MCP: in the first a disconnect is a cancellation, the second has sessions.
const PROTOCOL: &str = "2026-07-28";
const SESSIONS: &str = "2025-11-25";

pub struct Claim {
    pub outcome: &'static str,
    pub receipts: Vec<Value>,
    pub detail: String,
}

impl Claim {
    pub fn failed(detail: impl Into<String>) -> Claim {
        Claim { outcome: "failed", receipts: vec![], detail: detail.into() }
    }

    pub fn unknown(detail: impl Into<String>) -> Claim {
        Claim { outcome: "unknown", receipts: vec![], detail: detail.into() }
    }
}

/// The call in work. The library's hooks are told of a request and of nothing else.
type Current = Arc<Mutex<Option<Arc<Call>>>>;

/// ExponentialBackoff as it comes, which tells the harness how long the library is about to sleep.
struct Told(ExponentialBackoff, Current);

impl RetryPolicy for Told {
    fn should_retry(&self, start: SystemTime, past: u32) -> RetryDecision {
        let decision = self.0.should_retry(start, past);
        if let RetryDecision::Retry { execute_after } = decision {
            if let Some(call) = &*self.1.lock().unwrap() {
                call.wait(execute_after.duration_since(SystemTime::now()).unwrap_or_default(), "back-off");
            }
        }
        decision
    }
}

/// The innermost middleware: sees each attempt, and tells of its time-out.
struct Attempt(Current);

#[async_trait::async_trait]
impl Middleware for Attempt {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> reqwest_middleware::Result<Response> {
        let Some(call) = self.0.lock().unwrap().clone() else { return next.run(request, extensions).await };
        call.slept();
        if let Some(time) = request.timeout() {
            call.wait(*time, "time-out");
        }
        let before = std::mem::replace(&mut call.state.lock().unwrap().left, true); // until it is known that it was not sent
        let result = next.run(request, extensions).await;
        if let Err(reqwest_middleware::Error::Reqwest(e)) = &result {
            if e.is_connect() {
                call.state.lock().unwrap().left = before;
            }
        }
        match &result {
            Err(e) if e.is_timeout() => call.slept(),
            Ok(answer) if answer.status().is_success() => {} // its body is still to come, under the same time-out
            _ => call.waits_no_more(),
        }
        result
    }
}

pub struct Client {
    /// With the middleware, and without.
    retrying: ClientWithMiddleware,
    plain: ClientWithMiddleware,
    tuned: bool,
    timeout: Option<Duration>,
    tools: HashMap<String, Value>,
    requests: AtomicU64,
    current: Current,
    /// What sends that which opens sessions, and the open one.
    bare: reqwest::Client,
    session: Mutex<Option<String>>,
}

impl Client {
    pub fn new(start: &Value, tuned: bool) -> Result<Client, String> {
        let mut builder = reqwest::Client::builder();
        if start["knobs"]["fresh_connections"] == true {
            builder = builder.pool_max_idle_per_host(0);
        }
        let client = builder.build().map_err(|e| format!("client: {e}"))?;
        let current = Current::default();
        // Three retries, as in the example of the crate's first page; bounds, base and jitter are those that it comes with.
        let policy = Told(ExponentialBackoff::builder().build_with_max_retries(3), current.clone());
        let tools = start["tools"].as_array().into_iter().flatten();
        Ok(Client {
            retrying: ClientBuilder::new(client.clone())
                .with(RetryTransientMiddleware::new_with_policy(policy))
                .with(Attempt(current.clone()))
                .build(),
            bare: client.clone(),
            session: Mutex::new(None),
            plain: ClientBuilder::new(client).with(Attempt(current.clone())).build(),
            tuned,
            timeout: start["knobs"]["call_timeout_ms"].as_u64().map(Duration::from_millis),
            tools: tools.map(|t| (text(&t["name"]).to_string(), t.clone())).collect(),
            requests: AtomicU64::new(0),
            current,
        })
    }

    pub async fn call(&self, call: Arc<Call>) -> Claim {
        let name = text(&call.given["tool"]);
        let Some(tool) = self.tools.get(name) else {
            return Claim::failed(format!("tool {name} is not offered, expected one of {:?}", self.tools.keys()));
        };
        let read_only = tool["read_only"] == true;
        // The middleware is documented for requests that can be safely executed again: with a key they can.
        let key = (self.tuned && tool["takes_key"] == true).then(|| uuid::Uuid::new_v4().to_string());
        let safe = key.is_some() || read_only;
        let in_session = tool["transport"] == "mcp-sessions";
        if in_session {
            if let Err(e) = self.open_session(text(&tool["address"])).await {
                return Claim::failed(format!("no session, and so no call: {e}"));
            }
        }
        let request = match self.request(tool, &call, key) {
            Ok(request) => request,
            Err(e) => return Claim::failed(e),
        };
        *self.current.lock().unwrap() = Some(call.clone());
        let client = if self.tuned && !safe { &self.plain } else { &self.retrying };
        let lost = |e: String| {
            let left = call.state.lock().unwrap().left;
            if left && !read_only { Claim::unknown(e) } else { Claim::failed(e) }
        };
        match client.execute(request).await {
            Err(e) => lost(format!("{e:#}")),
            Ok(response) => {
                let status = response.status().as_u16();
                let stream = response.headers().get("content-type").is_some_and(|t| t.as_bytes().starts_with(b"text/event-stream"));
                let body = response.text().await;
                match &body {
                    Err(e) if e.is_timeout() => call.slept(),
                    _ => call.waits_no_more(),
                }
                if in_session && status == 404 {
                    *self.session.lock().unwrap() = None;
                    return if read_only { Claim::failed("the session is gone") } else { Claim::unknown("the session is gone") };
                }
                match body {
                    Ok(body) => read(status, &answer(&body, stream, tool["transport"] != "json"), read_only, tool),
                    Err(e) => lost(format!("HTTP {status}, and the answer broke off: {e}")),
                }
            }
        }
    }

    /// Opens a session where there is none; no retry layer sends what opens it.
    async fn open_session(&self, address: &str) -> Result<(), String> {
        if self.session.lock().unwrap().is_some() {
            return Ok(());
        }
        let post = |body: Value| {
            self.bare.post(address).header("content-type", "application/json").header("accept", "application/json, text/event-stream")
                .header("mcp-protocol-version", SESSIONS).body(body.to_string())
        };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": SESSIONS, "capabilities": {},
            "clientInfo": {"name": "sixthcopy-reqwest-retry", "version": "1"}}});
        let answer = post(hello).send().await.map_err(|e| e.to_string())?;
        let id = answer.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_string);
        answer.bytes().await.map_err(|e| e.to_string())?;
        let id = id.ok_or("the answer to initialize names none")?;
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}});
        post(ready).header("mcp-session-id", &id).send().await.map_err(|e| e.to_string())?;
        *self.session.lock().unwrap() = Some(id);
        Ok(())
    }

    /// The POST that calls the tool.
    fn request(&self, tool: &Value, call: &Call, key: Option<String>) -> Result<Request, String> {
        let mut arguments = call.given["args"].clone();
        if let Some(key) = &key {
            arguments["idempotency_key"] = json!(key);
        }
        let (name, address) = (text(&tool["name"]), text(&tool["address"]));
        let id = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let (url, body) = match text(&tool["transport"]) {
            "json" => (
                format!("{address}/tools/{name}"),
                json!({"arguments": arguments, "call_id": call.given["id"], "request_id": id.to_string()}),
            ),
            "mcp" | "mcp-sessions" => {
                let mut meta = json!({"sixthcopy/call_id": call.given["id"]});
                if tool["transport"] == "mcp" {
                    meta["io.modelcontextprotocol/protocolVersion"] = json!(PROTOCOL);
                    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
                }
                (
                    address.to_string(),
                    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments, "_meta": meta}}),
                )
            }
            other => return Err(format!("transport {other} of tool {name}, expected json, mcp or mcp-sessions")),
        };
        let url = reqwest::Url::parse(&url).map_err(|e| format!("address {url}: {e}"))?;
        let mut request = Request::new(http::Method::POST, url);
        *request.timeout_mut() = self.timeout;
        *request.body_mut() = Some(body.to_string().into());
        let mut head = vec![("content-type", "application/json".to_string())];
        if tool["transport"] != "json" {
            head.push(("accept", "application/json, text/event-stream".into()));
        }
        if let Some(id) = self.session.lock().unwrap().clone().filter(|_| tool["transport"] == "mcp-sessions") {
            head.push(("mcp-session-id", id));
            head.push(("mcp-protocol-version", SESSIONS.into()));
        }
        if tool["transport"] == "mcp" {
            head.push(("mcp-protocol-version", PROTOCOL.into()));
            head.push(("mcp-method", "tools/call".into()));
            head.push(("mcp-name", name.into()));
        }
        head.extend(key.map(|key| ("idempotency-key", key)));
        for (name, value) in head {
            request.headers_mut().insert(name, value.parse().map_err(|e| format!("header {name}: {e}"))?);
        }
        Ok(request)
    }
}

/// The claim that an answer allows: by the tool's own word, else by the status.
fn read(status: u16, said: &Value, read_only: bool, tool: &Value) -> Claim {
    let receipts = said["receipts"].as_array().cloned().unwrap_or_default();
    let detail = format!("HTTP {status}: {}", text(&said["message"]));
    let failed = match text(&said["status"]) {
        "done" => return Claim { outcome: "done", receipts, detail },
        "partial" => return Claim { outcome: "partial", receipts, detail },
        "refused" => true,
        "not_executed" => tool["contract"]["errors_typed"] == true,
        "" => status / 100 == 4 && ![408, 409, 429].contains(&status),
        _ => false, // unknown, conflict
    };
    if failed || read_only { Claim::failed(detail) } else { Claim::unknown(detail) }
}

/// The tool's answer: the body, or the structured content of the last whole event; null if there is none.
fn answer(body: &str, stream: bool, mcp: bool) -> Value {
    let mut body = body;
    if stream {
        let whole = body.rfind("\n\n").map_or("", |end| &body[..end]); // an event that no empty line ends is half of one
        body = whole.rfind("data:").map_or("", |begin| &whole[begin + 5..]);
    }
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    if mcp { value["result"]["structuredContent"].clone() } else { value }
}
