// The wire contract, version 1: docs/wire-contract.md.
export const wireVersion = 1;
