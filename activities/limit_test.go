package activities_test

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

func (s *fakeStore) Unpublished(context.Context, string) (task.Unpublished, error) {
	return s.saved, nil
}

// SavedPiece gives a byte at a time.
func (s *fakeStore) SavedPiece(_ context.Context, _, id string, piece int) ([]byte, error) {
	if s.pieceErr != nil && piece > 0 {
		return nil, s.pieceErr
	}
	_, text, _ := strings.Cut(s.texts[id], ":")
	content, err := base64.StdEncoding.DecodeString(text)
	return content[min(piece, len(content)):min(piece+1, len(content))], err
}

func (h *fakeHost) Promote(_ context.Context, _ scm.Repo, branch, ref, commit string) (string, error) {
	if h.promoteErr != nil {
		return "", h.promoteErr
	}
	h.heads[branch] = ref + " " + commit
	return commit, h.call("promote")
}

// limit is what a git host says that takes no requests for a while.
func limit(after time.Duration) error {
	e := task.Errorf(task.CodeExhausted, "GitHub's rate limit is reached.")
	e.After = after
	return e
}

// A rate limit of the Git host carries its reset time: the workflow waits if the activity cannot.
func TestRateLimit_CarriesItsResetTime(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*bench) error{
		"branch": func(b *bench) error {
			b.git.checkErr = limit(time.Hour)
			return act(b, b.activities().EnsureBranch, contract.EnsureBranchInput{TaskID: taskID})
		},
		"bundle": func(b *bench) error {
			b.git.bundleErr = limit(time.Hour)
			return act(b, b.activities().StartAgent, b.start())
		},
		"gather": func(b *bench) error {
			b.provider.onExec = func(*box, []string) (sandbox.ExecResult, error) { return sandbox.ExecResult{}, limit(time.Hour) }
			return act(b, b.activities().CollectWork, b.ref())
		},
		"push": func(b *bench) error {
			b.collects(committed())
			b.git.pushErr = limit(time.Hour)
			return act(b, b.activities().CollectWork, b.ref())
		},
		"pull request": func(b *bench) error {
			b.git.aheadErr = limit(time.Hour)
			return act(b, b.activities().OpenPullRequest, contract.PullInput{TaskID: taskID})
		},
	} {
		b := newBench(t)
		require.NoError(t, act(b, b.activities().EnsureSandbox, b.ref()))
		app, details := refused(t, ask(b))
		require.Equal(t, string(task.ClassProviderLimit), app.Type(), name)
		require.Equal(t, time.Hour, app.NextRetryDelay(), name)
		require.WithinDuration(t, time.Now().Add(time.Hour), details.ResetAt, time.Minute, name)
	}
}

// Nobody asks again within the window of salvage: what the repository does not take is kept at once.
func TestSalvage_DoesNotWaitForALimitBeyondItsWindow(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.collects(dirty())
	b.git.rescueErr = limit(time.Hour)
	require.Equal(t, task.SalvagePatch, b.salvage().Kind)

	b = newBench(t)
	b.running()
	b.collects(dirty())
	b.git.rescueErr = limit(time.Second)
	refused(t, act(b, b.activities().Salvage, b.ref()))
}

func TestPublishBranch_PushesSavedWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.collects(committed())
	b.git.pushErr = task.Errorf(task.CodeConflict, "GitHub does not take the branch.")
	require.Equal(t, task.SalvageRef, b.salvage().Kind)
	saved := b.store.rows[boxID].Salvage
	require.Equal(t, "c2", saved.Head, "where the branch should be")

	b.store.saved = task.Unpublished{Attempt: 1, Ref: saved.Ref, Head: saved.Head}
	b.git.loseAnswerOf("promote")
	require.Error(t, b.promotes())
	require.NoError(t, b.promotes())
	require.Equal(t, saved.Ref+" c2", b.git.heads["feature/tick-1"])
	require.Equal(t, map[int]string{1: "c2"}, b.store.heads)

	b.store.saved = task.Unpublished{}
	require.NoError(t, b.promotes())
	require.Equal(t, 2, b.git.count("promote"), "what is there is left alone")
}

func (b *bench) promotes() error {
	return act(b, b.activities().PublishBranch, contract.BranchInput{TaskID: taskID})
}

// A credential that is refused takes no rescue either: the bundle that omoi kept itself is pushed by the retry.
func TestPublishBranch_PushesAStoredBundle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.running()
	b.collects(committed())
	b.git.pushErr = task.Errorf(task.CodeForbidden, "GitHub does not accept the credential.")
	require.Equal(t, task.SalvagePatch, b.salvage().Kind)
	saved := b.store.rows[boxID].Salvage
	require.Equal(t, "c2", saved.Head)

	b.store.saved = task.Attempt{Number: 1, Salvage: saved}.Unpublished()
	app, _ := refused(t, b.promotes())
	require.Equal(t, string(task.ClassCredentials), app.Type())
	b.git.pushErr = task.Errorf(task.CodeConflict, "GitHub does not take the branch: GH001: Large files detected.")
	_, details := refused(t, b.promotes())
	require.True(t, details.Redo, "what it takes under no name an attempt has to do again")
	b.git.pushErr, b.store.pieceErr = nil, errDown
	_, details = refused(t, b.promotes())
	require.False(t, details.Redo, "it is there, and cannot be read now")
	b.store.pieceErr = nil
	require.NoError(t, b.promotes())
	require.Equal(t, "work", b.git.heads["feature/tick-1"])
	require.Equal(t, map[int]string{1: "work"}, b.store.heads)
	require.Zero(t, b.git.count("promote"))
}

func TestPublishBranch_OutdatedWorkNeedsANewAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.store.saved = task.Unpublished{Attempt: 1, Ref: "refs/omoi/rescue/x/1", Head: "c2"}
	for _, c := range []struct {
		err  error
		redo bool
	}{
		{task.Errorf(task.CodeConflict, "A user has pushed to it.").WithCause(scm.ErrMoved), true},
		{task.Errorf(task.CodeConflict, "GitHub does not take the branch."), false},
	} {
		b.git.promoteErr = c.err
		app, details := refused(t, b.promotes())
		require.True(t, app.NonRetryable())
		require.Equal(t, string(task.ClassPublish), app.Type())
		require.Equal(t, c.redo, details.Redo)
		require.Contains(t, app.Message(), task.MessageOf(c.err))
	}
	require.Empty(t, b.git.heads)
}

// A file that is too large for GitHub is too large for a rescue there too: omoi keeps the commits itself.
func TestSalvage_KeepsABundleThatGitHubRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	made := b.running()
	b.collects(dirty())
	b.git.rescueErr = task.Errorf(task.CodeConflict, "GitHub does not take the branch: GH001: Large files detected.")
	answer := b.provider.onExec
	b.provider.onExec = func(at *box, args []string) (sandbox.ExecResult, error) {
		res, err := answer(at, args)
		made.files[agentconfig.OutBundle] = make([]byte, 20<<20)
		return res, err
	}
	require.Equal(t, task.SalvagePatch, b.salvage().Kind)
	require.EqualValues(t, base64.StdEncoding.EncodedLen(20<<20), b.store.lengths[b.store.rows[boxID].Salvage.Ref])
}
