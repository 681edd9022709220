// Package postgres is the store: everything that omoi accepted, saw and paid for.
//
// # Lock order
//
// Every transaction takes its locks in this order and skips what it does not need:
//
//  1. the task's row (FOR UPDATE), one task a transaction;
//  2. the organization's advisory lock, which omoi_grant takes;
//  3. rows of slots, relay and other tasks of that organization, under that lock only;
//  4. rows of attempts and sandboxes of the task.
//
// The gate updates queue columns of tasks that wait, in the order of their ids; a task
// that waits is locked by nobody who also waits for the gate, except its own accept or
// projection, which has called the gate last.
package postgres
