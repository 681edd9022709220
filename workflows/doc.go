// Package workflows orchestrates the life of a task, the cleanup of a sandbox, and the passes of reaper, guardian,
// conductor and retention. It is deterministic and pure: it imports the domain, the contract and the SDK's workflow
// packages, and calls activities by the contract's names.
//
// # A task
//
// A task is in one stage at a time. [taskRun.runStage] has one method for each stage, which returns the next one.
//
//	stateDiagram-v2
//	    [*] --> queued: accepted
//	    queued --> preparing: has a slot
//	    preparing --> starting: branch exists
//	    starting --> running: agent started
//	    running --> publishing: work accepted
//	    running --> submitting: work done, to be validated
//	    submitting --> retrying: work on the branch, validator next
//	    running --> retrying: attempt failed, replaced or to be revised
//	    retrying --> starting: sandbox deleted, pause over
//	    running --> suspended: rate limit, budget, pause or review
//	    suspended --> queued: resumed
//	    publishing --> done: pull request open
//	    done --> [*]
//
// The diagram shows the usual paths. A failed step and a command of a user lead from every stage to retrying, suspended or
// done: [task.Decide] judges each fact, and [stageAfter] turns its answer into a stage. A validator's attempt passes
// through starting and running like any other.
//
// Two coroutines share the state of a task. The inbox receives digests, commands and the cancel request and turns them
// into facts. The main coroutine runs the stages and judges facts between steps and while it waits. Everything runs in a
// context that is disconnected from the workflow's own, so that a cancel request is a fact like any other.
//
// # Changing this package
//
// Histories are frozen (docs/decisions/0075-frozen-forms.md). Every change of the order of commands needs a version gate, and a history
// that is recorded with it (make record). replay_test.go replays all of testdata/histories.
package workflows
