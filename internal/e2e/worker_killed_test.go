package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// The tests of this file kill the worker with SIGKILL as soon as a step is scheduled, for every step of a task and of its cleanup.
// Go starts parallel tests from the last file to the first: the longest ones are in files late in the alphabet.

const stepsOfTask = 6 // of [steps]; the rest is of the cleanup

func TestWorkerKilled_AtEachStepOfTheTask(t *testing.T) {
	t.Parallel()
	workerKilledAt(t, steps()[:stepsOfTask])
}

func TestWorkerKilled_AtEachStepOfTheCleanup(t *testing.T) {
	t.Parallel()
	workerKilledAt(t, steps()[stepsOfTask:])
}

func TestWorkerKilled_AtEachLocalStep(t *testing.T) {
	t.Parallel()
	workerKilledAt(t, localSteps())
}

func workerKilledAt(t *testing.T, all []string) {
	t.Helper()
	r := newRig(t, nil).up()
	repo := r.keepingRepo()
	for _, step := range all {
		made := r.submit(repo, script(stepWrite, stepCommit, stepUnsaved, stepComplete)) // something to salvage
		r.scheduled(made.ID, step)
		r.kill("worker")
		r.startWorker()
		got := r.ends(made.ID, task.StatusCompleted)
		require.Equal(t, 1, got.AttemptCount, "killed at %s", step)
		r.noLeaks()
	}
	require.Equal(t, len(all), r.count(`SELECT count(*) FROM sandboxes`), "one sandbox an attempt")
	r.gapless()
}
