// Package postgres stores tasks, events, sandboxes and all other data of omoi in PostgreSQL.
//
// # Lock order
//
// Each transaction takes its locks in this order and skips those that it does not need:
//
//  1. the row of one task;
//  2. rows of that task: commands, attempts, sandboxes, relay row, slot;
//  3. the advisory lock of the organization, which admission holds until the end of the transaction;
//  4. under that lock, by admission only: rows of other queued tasks, where locked rows are skipped, and the slots
//     and relay rows of admitted tasks.
//
// Readers that count the events of a sandbox, and uploads of checkpoints, take advisory locks of their own before all
// others.
//
// With this order, a transaction that holds the lock of an organization never waits for the row of a task. A
// transaction that has locked the row of a queued task runs admission before it commits, because an admission that ran
// meanwhile has skipped the row. The reaper runs admission in each pass, for rows that were missed.
//
// A statement that waits for a row sees the new version of that row, and all other rows as of its own start. A decision
// under a lock therefore reads with a statement of its own.
package postgres
