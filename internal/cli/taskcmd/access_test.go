package taskcmd_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/receipt"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

const boxID = "aaaaaaaaaaaaaaaaaaaaaaaaaa"

// place is a sandbox provider in memory.
type place struct {
	sandbox.Provider

	ran    []string
	boxes  map[sandbox.Labels]sandbox.Sandbox
	agents map[string]bool // sandboxes with a running agent
	down   error

	last    sandbox.Labels // labels of the last command
	entered func()
}

func (*place) Name() string { return "local" }
func (*place) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{HostBound: true, Machine: true, Exec: true}
}

// Attach returns at once, or for the command "wait" when ctx ends.
func (p *place) Attach(ctx context.Context, l sandbox.Labels, cmd sandbox.Command, streams sandbox.Streams) (int, error) {
	p.last = l
	p.ran = append(p.ran, l.Installation+" "+strings.Join(cmd.Args, " "))
	if cmd.Args[0] == "wait" {
		p.entered()
		<-ctx.Done()
		return -1, ctx.Err()
	}
	_, _ = io.Copy(streams.Stdout, streams.Stdin)
	_, _ = io.WriteString(streams.Stderr, "err")
	return 6, p.down
}

func (p *place) Survey(context.Context) (out []sandbox.Sandbox, err error) {
	for _, box := range p.boxes {
		out = append(out, box)
	}
	return out, p.down
}

func (p *place) Inspect(_ context.Context, l sandbox.Labels) (sandbox.Inspection, error) {
	seen := sandbox.Inspection{State: sandbox.StateGone, Agent: sandbox.StateGone}
	if _, ok := p.boxes[l]; ok {
		seen.State = sandbox.StateAlive
	}
	if p.agents[l.SandboxID] {
		seen.Agent = sandbox.StateAlive
	}
	return seen, nil
}

func (p *place) Delete(_ context.Context, l sandbox.Labels) error {
	delete(p.boxes, l)
	return nil
}

func (f *fakeAPI) serveVisits(mux *http.ServeMux) {
	mux.HandleFunc("POST /api/v1/sandboxes/{id}/access-sessions", func(w http.ResponseWriter, r *http.Request) {
		var in client.CreateAccessSessionRequest
		_ = json.NewDecoder(r.Body).Decode(&in)
		f.locked(func() { f.asked = append(f.asked, "visit "+in.Kind+" "+in.Summary) })
		answer(w, http.StatusCreated, client.StartedAccessSession{
			AccessSession: receipt.AccessSession{ID: idA}, Sandbox: client.Sandbox{ID: r.PathValue("id"), HostID: "h7"},
			Labels: client.SandboxLabels{Installation: "ours", SandboxID: r.PathValue("id")},
		})
	})
	mux.HandleFunc("POST /api/v1/sandboxes/{id}/access-sessions/{session}/end", func(w http.ResponseWriter, r *http.Request) {
		var in client.EndAccessSessionRequest
		_ = json.NewDecoder(r.Body).Decode(&in)
		f.locked(func() { f.asked = append(f.asked, "end "+in.Outcome) })
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /api/v1/installation", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, client.Installation{ID: "ours"})
	})
	mux.HandleFunc("GET /api/v1/sandboxes/{id}", func(w http.ResponseWriter, r *http.Request) {
		for _, b := range f.boxes {
			if b.ID == r.PathValue("id") {
				answer(w, http.StatusOK, b)
				return
			}
		}
		problem(w, task.CodeNotFound, "There is no such sandbox.")
	})
}

func visited(t *testing.T) (*fakeAPI, *place) {
	t.Helper()
	f := newFake(t)
	f.boxes = []client.Sandbox{{ID: boxID, TaskID: idA, Provider: "local", State: task.SandboxRunning}}
	p := &place{boxes: map[sandbox.Labels]sandbox.Sandbox{}, agents: map[string]bool{}}
	f.provider = p
	return f, p
}

func TestExec_StartsAnAccessSession(t *testing.T) {
	t.Parallel()
	f, p := visited(t)
	got := f.with(call{stdin: "typed"}, "sandbox", "exec", "aaaa", "--", "git", "status")
	require.Equal(t, 6, got.code, "that of the command")
	require.Equal(t, "typed", got.out)
	require.Equal(t, "err", got.err)
	require.Equal(t, []string{"visit exec git status", "end exit code 6"}, f.asked)
	require.Equal(t, []string{"ours git status"}, p.ran)

	p.down = task.Errorf(task.CodeNotFound, "no such folder")
	got = f.omoi("sandbox", "exec", "aaaa", "--", "true")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, "it is on host h7")
	require.Equal(t, 2, f.omoi("sandbox", "exec", "aaaa").code)
	require.Equal(t, 2, f.omoi("sandbox", "shell", "aaaa").code, "there is no terminal")
}

// A task ID leads to the sandbox of its running attempt.
func TestSandbox_IsFoundByItsTask(t *testing.T) {
	t.Parallel()
	f, p := visited(t)
	f.tasks = []client.Task{aTask(idA, task.StatusRunning), aTask(idB, task.StatusCompleted)}
	f.boxes = append([]client.Sandbox{{ID: "dddddddddddddddddddddddddd", TaskID: idA, Attempt: 2}, {ID: "cccccccccccccccccccccccccc", TaskID: idA, Attempt: 2}}, f.boxes...)
	require.Contains(t, f.omoi("sandbox", "exec", "-", "--", "true").err, "has no sandbox yet", "it has no attempt")
	f.tasks[0].Attempts = []task.Attempt{{Number: 1, SandboxID: boxID}, {Number: 2, SandboxID: "cccccccccccccccccccccccccc"}}
	for _, ref := range []string{"-", idA, render.Short(idA)} {
		f.asked = nil
		require.Equal(t, 6, f.omoi("sandbox", "exec", ref, "--", "true").code)
		require.Equal(t, []string{"visit exec true", "end exit code 6"}, f.asked)
		require.Equal(t, "cccccccccccccccccccccccccc", p.last.SandboxID)
	}
	require.Contains(t, f.omoi("sandbox", "exec", "nonesuch", "--", "true").err, "Next: omoi sandbox list")
	require.Contains(t, f.omoi("sandbox", "exec", idA[:8], "--", "true").err, `"01931f6e" matches 2 tasks: give more of the ID: `)
	require.Contains(t, f.omoi("sandbox", "cleanup", "-").out, "its attempt has ended")
}

// After Ctrl-C the session ends as interrupted, with exit code 130.
func TestExec_Interrupted(t *testing.T) {
	t.Parallel()
	f, p := visited(t)
	ctx, cancel := context.WithCancel(t.Context())
	p.entered = cancel
	got := f.with(call{ctx: ctx}, "sandbox", "exec", "aaaa", "--", "wait")
	require.Equal(t, 130, got.code)
	require.Empty(t, got.err)
	require.Equal(t, []string{"visit exec wait", "end interrupted"}, f.asked)
}

func TestPrune_KeepsSandboxesInUse(t *testing.T) {
	t.Parallel()
	f, p := visited(t)
	old := time.Now().Add(-time.Hour)
	for id, box := range map[string]struct {
		installation string
		at           time.Time
	}{
		boxID: {"ours", old}, "stranger": {"ours", old}, "lost": {"theirs", old}, "busy": {"theirs", old}, "young": {"theirs", time.Now()},
	} {
		labels := sandbox.Labels{Installation: box.installation, SandboxID: id}
		p.boxes[labels] = sandbox.Sandbox{Labels: labels, CreatedAt: box.at}
	}
	p.agents["busy"] = true
	p.down = task.Errorf(task.CodeUnavailable, "no engine")
	none := f.omoi("sandbox", "prune")
	require.Zero(t, none.code, "a list is one also where a provider gave no answer")
	require.Contains(t, none.err, "Cannot list the sandboxes of provider local: no engine")
	p.down = nil
	got := f.omoi("sandbox", "prune", "--yes")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "theirs")
	require.Contains(t, got.out, "ours")

	got = f.omoi("sandbox", "prune", "--installation", "theirs")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "Nothing was deleted. Next: ")
	require.Len(t, p.boxes, 5)
	got = f.omoi("sandbox", "prune", "--installation", "theirs", "--yes")
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "its agent is running")
	require.Contains(t, got.out, "younger than 30 minutes")
	require.Len(t, p.boxes, 4)
	require.Zero(t, f.omoi("sandbox", "prune", "--installation", "theirs", "--yes", "--force").code)
	require.Len(t, p.boxes, 2)
	require.Equal(t, 2, f.omoi("sandbox", "prune", "--installation", "ours", "--yes").code, "those are the reaper's")
	require.Len(t, p.boxes, 2)

	p.down = errors.New("away")
	require.Equal(t, 1, f.omoi("sandbox", "prune", "--installation", "theirs", "--yes").code, "what was not asked for may be there")
}
