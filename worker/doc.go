// Package worker says what is registered under which name, and runs it: workflows and quick
// activities on the shared queue, slow work on sandboxes on a queue of its own, and the
// sandboxes of this machine on this machine's queue. Nothing in here elects a leader.
package worker
