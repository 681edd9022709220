package taskcmd_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/savedwork"
	"github.com/omoi-dev/omoi/internal/task"
)

func (f *fakeAPI) serveWork(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/tasks/{id}/saved-work", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Page[client.SavedWork]{Items: f.works})
	})
	mux.HandleFunc("GET /api/v1/tasks/{id}/saved-work/{attempt}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("attempt") == "1" {
			problem(w, task.CodeConflict, "The work of attempt 1 is in the repository. Next: git fetch origin feature/x")
			return
		}
		_, _ = w.Write([]byte("+the work of " + r.PathValue("attempt") + "\n"))
	})
}

func TestWork(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{{ID: idA, Repo: "acme/app"}}
	require.Contains(t, f.omoi("work", "-").out, "No work yet")
	require.Contains(t, f.omoi("work", "-", "--patch", "x").err, "omoi stores no patch of this task")
	since, rescue := time.Now(), "refs/omoi/rescue/"+idA+"/4"
	f.works = []client.SavedWork{
		{Attempt: 1, Kind: savedwork.Branch, Ref: "feature/x", Head: "0123456789abcdef", Next: "git fetch origin feature/x && git show FETCH_HEAD"},
		{Attempt: 2, Kind: savedwork.Patch, Files: 3, Bytes: 70, Notes: []string{"\"huge\" was left out\x1b"}, Next: "omoi work " + idA + " --attempt 2 --patch work.patch"},
		{Attempt: 3, Kind: savedwork.Lost, LostSince: &since},
		{Attempt: 4, Kind: savedwork.Rescue, Ref: rescue, Next: "git fetch origin " + rescue + " && git show FETCH_HEAD"},
		{Attempt: 5, Kind: savedwork.Saving},
	}
	got := f.omoi("work", "-")
	require.Zero(t, got.code, got.err)
	for _, want := range []string{
		"feature/x at 0123456789ab", "stored by omoi", "lost since " + since.Format("2006-01-02"), "Attempt 2: \"huge\" was left out",
		"omoi work 456789ab --attempt 2 --patch work.patch", "git fetch origin feature/x", "in a clone of acme/app",
		"\n  git fetch origin " + rescue + " && git show FETCH_HEAD  # show the work of attempt 4, in a clone of acme/app\n", "being saved",
	} {
		require.Contains(t, got.out, want)
	}
	require.NotContains(t, got.out, "\x1b")
	f.tasks[0].Repo, f.works[0].Next = "/repo", "git -C /repo show feature/x"
	require.Regexp(t, `(?m)^  git -C /repo show feature/x +# show the work of attempt 1$`, f.omoi("work", "-", "--attempt", "1").out)
	require.NotContains(t, f.omoi("work", "-", "--attempt", "3").out, "stored by omoi")
	require.Contains(t, f.omoi("work", "-", "--attempt", "9").err, "no saved work of attempt 9")
	var page client.Page[client.SavedWork]
	requireJSON(t, f.omoi("work", "-", "--json").out, &page)
	require.Len(t, page.Items, 5)
}

// Work that retention removed is shown with its date, without a command.
func TestWork_RemovedByRetention(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{aTask(idA, task.StatusFailed)}
	at, ref := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), "refs/omoi/rescue/x/1"
	f.works = []client.SavedWork{
		{Attempt: 1, SandboxID: "one", Kind: savedwork.Rescue, Ref: ref, Files: 1, RemovedAt: &at},
		{Attempt: 2, SandboxID: "two", Kind: savedwork.Patch, Files: 1, RemovedAt: &at},
	}
	day := at.Local().Format("2006-01-02 15:04:05")
	work := f.omoi("work", "-").out
	require.Regexp(t, `(?m)^1 +rescue .* removed by retention on `+day+`$`, work)
	require.Regexp(t, `(?m)^2 +patch .* removed by retention on `+day+`$`, work)
}

func TestWork_WritesPatchesAndBundles(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.tasks = []client.Task{{ID: idA}}
	f.works = []client.SavedWork{
		{Attempt: 1, Kind: savedwork.Branch, Ref: "feature/x", Head: "c1"}, {Attempt: 2, Kind: savedwork.Patch}, {Attempt: 4, Kind: savedwork.Bundle},
	}
	require.Equal(t, result{out: "+the work of 2\n"}, f.omoi("work", "-", "--attempt", "2", "--patch", "-"))
	require.Equal(t, result{out: "+the work of 4\n"}, f.omoi("work", "-", "--patch", "-"), "the newest that is kept")
	file := filepath.Join(t.TempDir(), "a patch")
	got := f.omoi("work", "-", "--attempt", "2", "--patch", file)
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "\n  git apply '"+file+"'  # in a working copy", "a line to paste")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "+the work of 2\n", string(content))
	bundle := f.omoi("work", "-", "--attempt", "4", "--patch", file)
	require.Contains(t, bundle.out, "git fetch '"+file+"' '+refs/*:refs/saved/*'")
	var told map[string]any
	requireJSON(t, f.omoi("work", "-", "--attempt", "2", "--patch", file, "--json").out, &told)
	require.Equal(t, []any{2.0, "patch", file, 15.0}, []any{told["attempt"], told["kind"], told["file"], told["bytes"]})

	require.Contains(t, f.omoi("work", "-", "--attempt", "1", "--patch", file).err, "Next: git fetch origin feature/x")
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, left, 1, "what could not be had leaves the file that was there, and nothing beside it")
	for _, args := range [][]string{{"--attempt", "-1"}, {"--patch", "-", "--json"}, {"--attempt", "2", "--patch", filepath.Join(file, "below")}} {
		require.Equal(t, exit.Usage, f.omoi(append([]string{"work", "-"}, args...)...).code, strings.Join(args, " "))
	}
}

// An attempt that began with the last checkpoint of an earlier one has the work of that one.
func TestBesideBranch_RestoredByALaterAttempt(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	next := aTask(idA, task.StatusRunning)
	next.Attempts = []client.Attempt{{Number: 1}, {Number: 2, RestoredFrom: "1.3"}}
	f.tasks, f.checkpoints = []client.Task{next}, []client.Checkpoint{{ID: "1.3", Attempt: 1, Number: 3}, {ID: "1.2", Attempt: 1, Number: 2}}
	salvage := task.Salvage{Kind: task.SalvageRef, Ref: "refs/omoi/rescue/x/1", Files: 2}
	f.boxes = []client.Sandbox{{ID: "abcdefghijklmnopqrstuvwxyz", TaskID: idA, Attempt: 1, Provider: "local", State: task.SandboxGone, Salvage: &salvage}}
	beside := func() bool { return strings.Contains(f.omoi("show", "-").out, "Not all work of attempt 1") }
	require.False(t, beside())
	next.Attempts[1].RestoredFrom = "1.2"
	require.True(t, beside(), "a rewind left newer files")
	next.Attempts[1].RestoredFrom, salvage.Notes = "1.3", []string{"\"huge\" was left out"}
	require.True(t, beside(), "no checkpoint has what was left out")
}

// The hint about saved work appears for unpushed commits, and disappears after they are pushed.
func TestBesideBranch(t *testing.T) {
	t.Parallel()
	const ref = "refs/omoi/rescue/x/1"
	for name, c := range map[string]struct {
		salvage task.Salvage
		head    *string
		beside  bool
	}{
		"nothing":                 {task.Salvage{Kind: task.SalvageNone}, nil, false},
		"left out":                {task.Salvage{Kind: task.SalvageNone, Notes: []string{"\"huge\" was left out"}}, nil, true},
		"uncommitted":             {task.Salvage{Kind: task.SalvageRef, Ref: ref, Files: 2}, nil, true},
		"not pushed":              {task.Salvage{Kind: task.SalvageRef, Ref: ref, Head: "c1"}, nil, true},
		"both":                    {task.Salvage{Kind: task.SalvageRef, Ref: ref, Head: "c1", Files: 1}, nil, true},
		"pushed later":            {task.Salvage{Kind: task.SalvageRef, Ref: ref, Head: "c1"}, new("c1"), false},
		"pushed later, and files": {task.Salvage{Kind: task.SalvageRef, Ref: ref, Head: "c1", Files: 1}, new("c1"), true},
		"other branches":          {task.Salvage{Kind: task.SalvageRef, Ref: ref}, nil, true},
		"kept":                    {task.Salvage{Kind: task.SalvagePatch, Ref: idB, Head: "c1"}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			failed := aTask(idA, task.StatusFailed)
			failed.Attempts = []client.Attempt{{Number: 1, HeadCommit: c.head}}
			f.tasks = []client.Task{failed}
			f.boxes = []client.Sandbox{{ID: "abcdefghijklmnopqrstuvwxyz", TaskID: idA, Attempt: 1, Provider: "local", State: task.SandboxGone, Salvage: &c.salvage}}
			require.Equal(t, c.beside, strings.Contains(f.omoi("show", "-").out, "Not all work of attempt 1 is on the branch. Next: omoi work 456789ab"))
		})
	}
}
