package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/savedwork"
	"github.com/omoi-dev/omoi/internal/task"
)

// ending is a way in which an attempt comes to its end while work of it is not committed.
type ending struct {
	last     string                               // step of the script, after the work
	does     func(*rig, task.Task)                // what is done from outside, once the work is there
	edit     []func(*apiclient.CreateTaskRequest) // of the task
	status   task.Status
	attempts int // whose work must be there; 0: one
}

func endings() map[string]ending {
	return map[string]ending{
		"completes":        {last: stepComplete, status: task.StatusCompleted},
		"fails":            {last: `{"fail":"no"}`, status: task.StatusFailed},
		"fails and again":  {last: `{"fail":"no"}`, edit: []func(*apiclient.CreateTaskRequest){retries(1)}, status: task.StatusFailed, attempts: 2},
		"agent dies":       {last: `{"crash":"SIGKILL"}`, status: task.StatusFailed},
		"disk is full":     {last: `{"bash":{"command":"head -c 400M /dev/zero > .git/filler; sleep 300","timeout_s":400}}`, status: task.StatusFailed},
		"omoi thrown out":  {last: `{"bash":{"command":"rm -rf /omoi/bin /omoi/agent.json /omoi/origin.git; sleep 300","timeout_s":400}}`, does: cancelIt, status: task.StatusCancelled},
		"processes killed": {last: stepHang, does: (*rig).killSandbox, status: task.StatusFailed},
		"cancelled":        {last: stepHang, does: cancelIt, status: task.StatusCancelled},
		"cancelled by Temporal": {last: stepHang, does: func(r *rig, t task.Task) {
			r.eventually("Temporal takes the command", func() bool { return r.temporalCLI("workflow", "cancel", "-w", contract.TaskWorkflowID(t.ID)).code == 0 })
		}, status: task.StatusCancelled},
		"declared failed": {last: stepHang, does: func(r *rig, t task.Task) {
			status, _ := r.ask(ask{method: http.MethodPost, path: "/api/v1/tasks/" + t.ID + "/fail", body: `{"reason":"no use"}`})
			require.Contains(r.t, []int{http.StatusOK, http.StatusAccepted}, status)
		}, status: task.StatusFailed},
		"declared complete": {last: stepHang, does: func(r *rig, t task.Task) {
			require.Zero(r.t, r.signalCLI(t.ID, "command", `{"kind":"complete"}`).code)
		}, status: task.StatusCompleted},
		"replaced after a verdict": {last: stepHang, does: (*rig).sendBack, status: task.StatusCancelled, attempts: 2},
		"terminated":               {last: stepHang, does: func(r *rig, t task.Task) { r.terminate(t.ID) }, status: task.StatusFailed},
	}
}

// limits are the ends that the clock brings.
func limits() map[string]ending {
	return map[string]ending{
		"takes too long": {last: `{"bash":{"command":"sleep 300","timeout_s":400}}`, status: task.StatusFailed},
		"falls mute":     {last: `{"bash":{"command":"kill -STOP $PPID"}}`, status: task.StatusFailed},
		"does nothing":   {last: stepHang, status: task.StatusFailed},
		"waits too long": {last: `{"wait_message":{}}`, status: task.StatusFailed},
	}
}

func cancelIt(r *rig, t task.Task) {
	_, _, err := r.api.Cancel(context.Background(), t.ID, "enough")
	require.NoError(r.t, err)
}

// killSandbox kills every process of a sandbox; its files stay.
func (r *rig) killSandbox(t task.Task) {
	for _, pid := range processesWith(filepath.Join(r.env["OMOI_SANDBOX_DIR"], task.SandboxNamePrefix+text(t.SandboxID))) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// sendBack has the work judged as wanting, and ends the attempt that follows.
func (r *rig) sendBack(t task.Task) {
	status, problem := r.ask(ask{
		method: http.MethodPost, path: "/api/v1/sandboxes/" + text(t.SandboxID) + "/validation-result",
		body: `{"task_id":"` + t.ID + `","passed":false,"feedback":"look again"}`,
	})
	require.Equal(r.t, http.StatusOK, status, problem)
	second := r.until(t.ID, "runs again", func(now task.Task) bool { return now.AttemptCount == 2 && now.Status == task.StatusRunning })
	r.written(second)
	cancelIt(r, t)
}

// written waits until the running attempt has done what must not be lost.
func (r *rig) written(t task.Task) {
	r.eventually("the work of "+t.ID+" is there", func() bool { return r.stored(text(t.SandboxID), "agent.file_edited") > 0 })
}

// TestWorkIsSavedOnEveryKindOfEnd holds omoi to P5: what an agent had not committed is in the
// repository when its sandbox is gone, however it ended, and the receipt names it.
func TestWorkIsSavedOnEveryKindOfEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{
		"MAX_CONCURRENT_TASKS_PER_PROJECT": "20", "OMOI_REAPER_INTERVAL": "3s", "OMOI_REAPER_GRACE_PERIOD": "1s", "SANDBOX_DISK_GB": "0.2",
	}).up()
	repo := r.keepingRepo()
	r.endAndSave(repo, endings())
	r.linkIsSaved(repo)
	r.stop("worker")
	r.start("worker", map[string]string{
		"OMOI_TASK_ATTEMPT_TIMEOUT": "15s", "OMOI_TASK_NO_WORK_TIMEOUT": "10s", "OMOI_TASK_IDLE_TIMEOUT": "10s",
	}, "worker")
	r.endAndSave(repo, limits())
	r.noLeaks()
	r.workComesOut(repo)
}

// linkIsSaved has an agent commit a link to a repository that it made: all is committed, and nothing of that is in the branch.
func (r *rig) linkIsSaved(repo string) {
	r.t.Helper()
	inner := `git init -q newlib && cd newlib && printf work > inside.txt && git add -A && git -c user.name=a -c user.email=a@b commit -qm inner`
	made := r.submit(repo, script(`{"bash":{"command":"`+inner+`"}}`, `{"commit":"add a library"}`, stepComplete), retries(0))
	r.ends(made.ID, task.StatusCompleted)
	r.noLeaks()
	listed := r.omoi("work", made.ID, "--json")
	require.Zero(r.t, listed.code, listed.stderr)
	var page apiclient.Page[apiclient.SavedWork]
	require.NoError(r.t, json.Unmarshal([]byte(listed.stdout), &page))
	at := slices.IndexFunc(page.Items, func(w apiclient.SavedWork) bool { return w.Kind == savedwork.Rescue })
	require.NotEqual(r.t, -1, at, listed.stdout)
	saved := page.Items[at]
	require.Equal(r.t, []any{1, int64(len("work"))}, []any{saved.Files, saved.Bytes})
	require.Contains(r.t, strings.Join(saved.Notes, " "), `"newlib" is a separate repository`)
	require.Equal(r.t, "work", r.run("git", "-C", repo, "show", saved.Ref+":newlib/inside.txt").stdout)
}

// workComesOut gets at saved work by what `omoi work` says, in a clone as a person has one.
func (r *rig) workComesOut(repo string) {
	r.t.Helper()
	ended := r.submit(repo, script(stepUnsaved, `{"fail":"no"}`), retries(0))
	r.ends(ended.ID, task.StatusFailed)
	r.noLeaks()
	listed := r.omoi("work", ended.ID, "--json")
	require.Zero(r.t, listed.code, listed.stderr)
	var page apiclient.Page[apiclient.SavedWork]
	require.NoError(r.t, json.Unmarshal([]byte(listed.stdout), &page))
	require.Len(r.t, page.Items, 1)
	require.Equal(r.t, []any{savedwork.Rescue, 1}, []any{page.Items[0].Kind, page.Items[0].Files})
	clone := filepath.Join(r.dir, "clone")
	require.Zero(r.t, r.run("git", "clone", "-q", repo, clone).code)
	shown := r.run("sh", "-c", page.Items[0].Next)
	require.Contains(r.t, shown.stdout, "\n+not committed\n", shown.stderr)
	refused := r.omoi("work", ended.ID, "--attempt", "1", "--patch", "-")
	require.NotZero(r.t, refused.code)
	require.Contains(r.t, refused.stderr, page.Items[0].Next)
	r.patchComesOut(clone)
}

// patchComesOut applies the patch of a task that has no repository.
func (r *rig) patchComesOut(clone string) {
	r.t.Helper()
	project, err := r.api.CreateProject(context.Background(), apiclient.CreateProjectRequest{Name: "without a repository"})
	require.NoError(r.t, err)
	ended := r.submit("", script(stepUnsaved, `{"fail":"no"}`), retries(0), func(in *apiclient.CreateTaskRequest) { in.ProjectID = project.ID })
	r.ends(ended.ID, task.StatusFailed)
	r.noLeaks()
	file := filepath.Join(r.dir, "work.patch")
	written := r.omoi("work", ended.ID, "--patch", file)
	require.Zero(r.t, written.code, written.stderr)
	require.Contains(r.t, written.stdout, "git apply "+file)
	applied := r.run("sh", "-c", "cd "+clone+" && git apply "+file+" && cat notes.txt")
	require.Equal(r.t, "not committed\n", applied.stdout, applied.stderr)
}

func (r *rig) endAndSave(repo string, ends map[string]ending) {
	r.t.Helper()
	made := map[string]task.Task{}
	for name, e := range ends {
		edit := append([]func(*apiclient.CreateTaskRequest){retries(0)}, e.edit...)
		made[name] = r.submit(repo, script(stepUnsaved, e.last), edit...)
	}
	for name, e := range ends {
		if e.does != nil {
			running := r.running(made[name].ID)
			r.written(running)
			e.does(r, running)
		}
	}
	for name, e := range ends {
		ended := r.until(made[name].ID, name+" ends", func(t task.Task) bool { return t.Status.Final() })
		require.Equal(r.t, e.status, ended.Status, "%s: %s", name, ended.Why)
		r.isSaved(repo, name, made[name].ID, max(e.attempts, 1))
	}
}

// isSaved holds each attempt of a task to its receipt, and the receipt to the repository.
func (r *rig) isSaved(repo, name, id string, attempts int) {
	r.t.Helper()
	got := r.until(id, name+": its sandboxes are settled", func(t task.Task) bool {
		for _, a := range t.Attempts {
			if a.Salvage == nil {
				return false
			}
		}
		return true
	})
	require.Len(r.t, got.Attempts, attempts, name)
	for _, a := range got.Attempts {
		require.Equal(r.t, task.SalvageRef, a.Salvage.Kind, name)
		require.Contains(r.t, a.Salvage.Ref, "refs/omoi/rescue/"+id, name)
		require.Equal(r.t, 1, a.Salvage.Files, name)
		require.EqualValues(r.t, len("not committed\n"), a.Salvage.Bytes, name)
		require.Equal(r.t, "not committed\n", r.run("git", "-C", repo, "show", a.Salvage.Ref+":notes.txt").stdout, name)
	}
}
