package savedwork_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/savedwork"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestSavedWorkOfEachAttempt(t *testing.T) {
	t.Parallel()
	now := time.Now()
	rescue := func(files int, head string) *task.Salvage {
		return &task.Salvage{Kind: task.SalvageRef, Ref: "refs/omoi/rescue/t/1", Files: files, Head: head}
	}
	branch := savedwork.SavedWork{Kind: savedwork.Branch, Ref: "feature/x", Head: "c1"}
	for name, c := range map[string]struct {
		attempt task.Attempt
		want    []savedwork.SavedWork
	}{
		"at work":             {task.Attempt{}, nil},
		"at work, with heads": {task.Attempt{HeadCommit: new("c1")}, []savedwork.SavedWork{branch}},
		"nothing":             {task.Attempt{EndedAt: &now, Salvage: &task.Salvage{Kind: task.SalvageNone}}, []savedwork.SavedWork{{Kind: savedwork.None}}},
		"nothing but notes": {
			task.Attempt{EndedAt: &now, Salvage: &task.Salvage{Kind: task.SalvageNone, Notes: []string{"large"}}},
			[]savedwork.SavedWork{{Kind: savedwork.None, Notes: []string{"large"}}},
		},
		"as it was before": {task.Attempt{EndedAt: &now, HeadCommit: new("base")}, []savedwork.SavedWork{{Kind: savedwork.None}}},
		"being saved": {
			task.Attempt{EndedAt: &now, SandboxState: task.SandboxRunning},
			[]savedwork.SavedWork{{Kind: savedwork.Saving, Notes: []string{"What it left is still being saved. Look again in a moment."}}},
		},
		"on the branch, and the rest being saved": {
			task.Attempt{EndedAt: &now, HeadCommit: new("c1"), SandboxState: task.SandboxDeleting},
			[]savedwork.SavedWork{branch, {Kind: savedwork.Saving, Notes: []string{"What it left is still being saved. Look again in a moment."}}},
		},
		"nothing, and still deleted": {
			task.Attempt{EndedAt: &now, SandboxState: task.SandboxDeleting, Salvage: &task.Salvage{Kind: task.SalvageNone}},
			[]savedwork.SavedWork{{Kind: savedwork.None}},
		},
		"gone before anybody looked": {task.Attempt{EndedAt: &now, SandboxState: task.SandboxGone}, []savedwork.SavedWork{{Kind: savedwork.None}}},
		"on the branch and beside it": {
			task.Attempt{EndedAt: &now, HeadCommit: new("c1"), Salvage: rescue(2, "")},
			[]savedwork.SavedWork{branch, {Kind: savedwork.Rescue, Ref: "refs/omoi/rescue/t/1", Files: 2}},
		},
		"not pushed": {
			task.Attempt{EndedAt: &now, Salvage: rescue(0, "c1")},
			[]savedwork.SavedWork{{Kind: savedwork.Rescue, Ref: "refs/omoi/rescue/t/1", Head: "c1"}},
		},
		"pushed later": {task.Attempt{EndedAt: &now, HeadCommit: new("c1"), Salvage: rescue(0, "c1")}, []savedwork.SavedWork{branch}},
		"a patch": {
			task.Attempt{EndedAt: &now, Salvage: &task.Salvage{Kind: task.SalvagePatch, Ref: "id", Files: 1, Bytes: 9}},
			[]savedwork.SavedWork{{Kind: savedwork.Patch, Text: "id", Files: 1, Bytes: 9}},
		},
		"lost": {
			task.Attempt{EndedAt: &now, Salvage: &task.Salvage{Kind: task.SalvageLost, LostSince: &now}},
			[]savedwork.SavedWork{{Kind: savedwork.Lost, LostSince: &now}},
		},
	} {
		c.attempt.Number, c.attempt.SandboxID = 1, "box"
		for n := range c.want {
			c.want[n].Attempt, c.want[n].SandboxID = 1, "box"
		}
		got := savedwork.Of(task.Task{Branch: new("feature/x"), Base: new("base"), Attempts: []task.Attempt{c.attempt}})
		require.Equal(t, c.want, got, name)
	}
}

// An attempt that left the branch where the one before it had brought it has nothing of its own there.
func TestABranchIsCountedOnce(t *testing.T) {
	t.Parallel()
	now := time.Now()
	got := savedwork.Of(task.Task{Branch: new("feature/x"), Base: new("base"), Attempts: []task.Attempt{
		{Number: 1, EndedAt: &now, HeadCommit: new("c1")}, {Number: 2, EndedAt: &now, HeadCommit: new("c1")},
	}})
	require.Equal(t, []string{savedwork.Branch, savedwork.None}, []string{got[0].Kind, got[1].Kind})
}
