// Package conformance holds no code, only the test that real SDKs get from the fake providers what they get
// from the real ones: unmodified clients, pinned, in Python, Node and Go, are pointed at a fake by its
// address alone. README.md says how to add an SDK, a scenario or a flip; docs/conformance.md shows what was
// expected and what is seen.
package conformance
