// Package workflows orchestrates: the life of a task, the end of a sandbox, and the
// reaper. It is deterministic and pure. It imports the domain, the contract and the
// SDK's workflow packages, and meets the activities in the contract's names only.
//
// # A task
//
//	load -> admit -> branch -> [ begin -> spawn -> watch ]* -> publish -> finish
//	                                |
//	                                +-> hand over the sandbox: SandboxCleanupWorkflow
//
// Two coroutines share the state of a task. The pump receives digests, commands and the
// cancel request and turns them into facts; the main one carries out a phase at a time and
// judges facts with task.Decide, between steps and while it waits. Everything runs in a
// context that is disconnected from the workflow's own, so that a cancel request is a
// fact like any other.
//
// # Changing this package
//
// Every change that alters the order of commands needs a recorded history beside it
// (make record) or a version gate; replay_test.go replays all of testdata/histories.
package workflows
