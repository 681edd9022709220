// Package postgres is the store: everything that omoi accepted, saw and paid for.
//
// # Lock order
//
// Every transaction takes its locks in this order and skips what it does not need:
//
//  1. the row of one task;
//  2. what belongs to that task: commands, attempts, sandboxes, its relay row, its slot;
//  3. the organization's advisory lock, which the gate takes and holds to the end;
//  4. under that lock, and by the gate only: rows of other tasks that wait, which it passes
//     over where they are locked, and slots and relay rows of those that it lets in.
//
// Readers that count the events of a sandbox take an advisory lock of their own before all of these.
//
// So nobody who holds the organization's lock waits for a task's row. Whoever has locked the
// row of a task that waits for a slot runs the gate before it commits, since a gate that ran
// meanwhile has passed it over; the reaper's gate mends what forgot to.
//
// A statement that waits for a row sees that row as it is afterwards, and everything else as
// it was before. What is decided under a lock is therefore read by a statement of its own.
package postgres
