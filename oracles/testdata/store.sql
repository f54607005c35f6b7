PRAGMA synchronous = OFF;
PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE IF NOT EXISTS requests (
	ord INTEGER PRIMARY KEY, link TEXT, conn INTEGER, exchange INTEGER,
	op TEXT, class TEXT, attrs TEXT, key TEXT, principal TEXT, arrived_at INTEGER);
CREATE TABLE IF NOT EXISTS effects (
	ord INTEGER PRIMARY KEY AUTOINCREMENT, object TEXT NOT NULL UNIQUE, class TEXT NOT NULL, attrs TEXT NOT NULL,
	sign INTEGER NOT NULL, principal TEXT NOT NULL, request TEXT NOT NULL,
	undoes TEXT NOT NULL, carried_by TEXT NOT NULL, harms TEXT NOT NULL,
	reference TEXT NOT NULL, detail TEXT NOT NULL, committed_at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS keys (
	scope TEXT, key TEXT, state TEXT, fingerprint TEXT, request TEXT, status INTEGER, header TEXT, body BLOB,
	objects TEXT, created_at INTEGER, done_at INTEGER, PRIMARY KEY (scope, key)) WITHOUT ROWID;
COMMIT;
