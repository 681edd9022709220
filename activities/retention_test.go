package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/omoi-dev/omoi/activities"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// keeper is a store in which events take three steps, and three tasks have refs.
type keeper struct {
	steps   int
	noted   []string
	earlier int    // branches of each task before the present one
	retried string // a task that a user retries when the first one's refs are removed
}

func (k *keeper) Clock(context.Context) (time.Time, error) { return time.Unix(1_000_000, 0), nil }

func (k *keeper) Retain(context.Context, string, time.Time, time.Time) (retention.Step, error) {
	k.steps++
	return retention.Step{Subjects: 1, Rows: 10, More: k.steps < 3}, nil
}

func (k *keeper) ExpiredGit(_ context.Context, _ string, _ time.Time, after string, most int) (found []retention.ExpiredGit, _ error) {
	for _, id := range []string{"a", "b", "c"} {
		if id > after && len(found) < most && (id != k.retried || len(k.noted) == 0) {
			found = append(found, retention.ExpiredGit{TaskID: id, Repo: "o/" + id, Earlier: k.earlier})
		}
	}
	return found, nil
}

func (k *keeper) NoteRemoval(_ context.Context, _, taskID string, _ time.Time) error {
	k.noted = append(k.noted, taskID)
	return nil
}

// hosts reach every repository but o/b.
type hosts struct {
	scm.Host

	limit   error // of all
	removed *[]string
}

func (h hosts) For(repo string, _ scm.Owner) (scm.Host, error) {
	if repo == "o/b" {
		return nil, errors.New("not reached")
	}
	return h, nil
}

func (h hosts) RemoveRefs(_ context.Context, _ scm.Repo, owner string) error {
	if h.removed != nil {
		*h.removed = append(*h.removed, owner)
	}
	return h.limit
}

func retaining(k *keeper, rules retention.Policy) (*activities.Activities, *testsuite.TestActivityEnvironment) {
	a := activities.New(activities.Config{Retention: rules}, activities.Deps{Retention: k, Git: hosts{}})
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	return a, env
}

// A pass has every kind that is not kept forever, and ages count from the moved clock. Packs of checkpoints need care even if
// checkpoints are kept forever: none of them is old enough then.
func TestBeginRetention(t *testing.T) {
	t.Parallel()
	a, env := retaining(&keeper{}, retention.Policy{Ahead: time.Hour, Keep: map[string]time.Duration{retention.Refs: time.Minute, retention.Events: 0}})
	begun, err := execute[contract.RetentionBegun](env, a.BeginRetention)
	require.NoError(t, err)
	require.Len(t, begun.Kinds, 2)
	require.Equal(t, retention.Checkpoints, begun.Kinds[0].Kind)
	require.True(t, begun.Kinds[0].Before.IsZero())
	require.Equal(t, retention.Refs, begun.Kinds[1].Kind)
	require.EqualValues(t, 1_000_000+3600-60, begun.Kinds[1].Before.Unix())
}

func TestRemoveExpired(t *testing.T) {
	t.Parallel()
	k := &keeper{}
	a, env := retaining(k, retention.Policy{})
	done, err := execute[contract.RetentionDone](env, a.RemoveExpired, contract.RetentionStep{Kind: retention.Events})
	require.NoError(t, err)
	require.Equal(t, contract.RetentionDone{Subjects: 3, Rows: 30}, done)
	done, err = execute[contract.RetentionDone](env, a.RemoveExpired, contract.RetentionStep{Kind: retention.Refs})
	require.NoError(t, err)
	require.Equal(t, contract.RetentionDone{Subjects: 2, Failed: 1, After: "c"}, done)
	require.Equal(t, []string{"a", "c"}, k.noted, "one that is out of reach is left for the next pass")
}

// A task that is retried while the pass removes the refs of others keeps its own.
func TestRemoveExpired_KeepsTheRefsOfATaskRetriedMeanwhile(t *testing.T) {
	t.Parallel()
	k := &keeper{retried: "c"}
	a, env := retaining(k, retention.Policy{})
	_, err := execute[contract.RetentionDone](env, a.RemoveExpired, contract.RetentionStep{Kind: retention.Refs})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, k.noted)
}

// A pass ends where the Git host's rate limit is reached.
func TestRemoveExpired_EndsAtARateLimit(t *testing.T) {
	t.Parallel()
	limited := hosts{limit: task.Errorf(task.CodeExhausted, "limit")}
	a := activities.New(activities.Config{}, activities.Deps{Retention: &keeper{}, Git: limited})
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	done, err := execute[contract.RetentionDone](env, a.RemoveExpired, contract.RetentionStep{Kind: retention.Refs})
	require.NoError(t, err)
	require.Equal(t, contract.RetentionDone{Failed: 1, After: "a"}, done)
}

func TestRemoveExpired_RefsOfEarlierBranches(t *testing.T) {
	t.Parallel()
	var removed []string
	a := activities.New(activities.Config{}, activities.Deps{Retention: &keeper{earlier: 2}, Git: hosts{removed: &removed}})
	var suite testsuite.WorkflowTestSuite
	_, err := execute[contract.RetentionDone](suite.NewTestActivityEnvironment(), a.RemoveExpired, contract.RetentionStep{Kind: retention.Refs})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "a-1", "a-2", "c", "c-1", "c-2"}, removed)
}
