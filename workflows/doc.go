// Package workflows orchestrates the life of a task, the cleanup of a sandbox, and the passes of reaper, guardian,
// conductor and retention. The package is deterministic: it imports package task, package contract and the SDK's
// workflow packages only, and calls activities by the names in package contract.
//
// # A task
//
// A task is in one stage at a time. [taskRun.runStage] calls the method of the stage, which returns the next stage.
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
//	    running --> suspended: rate limit, budget, pause, review or question
//	    suspended --> queued: resumed
//	    publishing --> done: pull request open
//	    done --> [*]
//
// The diagram shows the usual paths. A failed step or a user's command can lead from every stage to retrying, suspended
// or done: [task.Decide] judges each fact, and [stageAfter] maps the effects to a stage. The attempt of a validator
// passes through starting and running like any other attempt.
//
// Two coroutines share the state of a task. The inbox receives digests, commands and the cancel request and turns them
// into facts. The main coroutine runs the stages, and judges facts between steps and during waits. Both use a context
// that is disconnected from the workflow's context, so that a cancel request becomes a fact.
//
// # Changing this package
//
// Histories are frozen (docs/decisions/0075-frozen-forms.md). A change to the order of Temporal commands needs a version
// gate and a history recorded with it (make record). replay_test.go replays all of testdata/histories.
package workflows
