package daytona_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/daytona"
	"github.com/omoi-dev/omoi/internal/task"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

func someLabels() sandbox.Labels {
	return sandbox.Labels{Installation: "faults", TaskID: task.NewID(), Attempt: 1, SandboxID: task.NewSandboxID()}
}

func code(t *testing.T, want task.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, task.CodeOf(err), err.Error())
}

// ensure creates a sandbox.
func (b *bed) ensure(t *testing.T, p *daytona.Provider) (sandbox.Sandbox, sandbox.Labels) {
	t.Helper()
	labels := someLabels()
	box, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	require.NoError(t, err)
	require.Len(t, b.server.Boxes(), 1, "one call makes one sandbox")
	return box, labels
}

// end deletes a sandbox and checks that none is left.
func (b *bed) end(t *testing.T, p *daytona.Provider, labels sandbox.Labels) {
	t.Helper()
	require.NoError(t, p.Delete(t.Context(), labels))
	require.Empty(t, b.server.Boxes())
	seen, err := p.Inspect(t.Context(), labels)
	require.NoError(t, err)
	require.Equal(t, sandbox.StateGone, seen.State)
}

// TestEveryAnswerMayBeLost loses one answer of each call: there is one sandbox, its command runs once, and it is
// deleted.
func TestEveryAnswerMayBeLost(t *testing.T) {
	t.Parallel()
	for _, lost := range []daytonatest.Fault{
		{Method: http.MethodGet, Path: "/api/sandbox/*"},
		{Method: http.MethodPost, Path: "/api/sandbox"},
		{Method: http.MethodGet, Path: "/toolbox/*/version"},
		{Method: http.MethodGet, Path: "/toolbox/*/process/session/*"},
		{Method: http.MethodPost, Path: "/toolbox/*/process/session"},
		{Method: http.MethodPost, Path: "/toolbox/*/process/session/*/exec"},
		{Method: http.MethodPost, Path: "/toolbox/*/process/execute"},
		{Method: http.MethodPost, Path: "/toolbox/*/files/bulk-upload"},
		{Method: http.MethodGet, Path: "/toolbox/*/files/download"},
		{Method: http.MethodDelete, Path: "/api/sandbox/*"},
	} {
		t.Run(lost.Method+lost.Path, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, daytonatest.Options{})
			p, labels := b.open(t), someLabels()
			for _, broken := range []daytonatest.Switch{daytonatest.LostAnswer, daytonatest.BadGateway} {
				fault := lost
				fault.Switch, fault.Times = broken, 1
				b.server.Faults().Set(fault)
			}
			again(t, func() error {
				_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
				return err
			})
			again(t, func() error { return p.Start(t.Context(), labels, sh("echo ran >> runs; echo up; sleep 600")) })
			says(t, p, labels, "up")
			again(t, func() error {
				return p.WriteFile(t.Context(), labels, "/workspace/given", 0o600, strings.NewReader("given"))
			})
			require.Len(t, b.server.Boxes(), 1)
			again(t, func() error { return p.Stop(t.Context(), labels, 0) })
			again(t, func() error {
				text, err := readAll(p, t.Context(), labels, "/workspace/runs")
				require.True(t, err != nil || text == "ran\n", text)
				return err
			})
			again(t, func() error { return p.Delete(t.Context(), labels) })
			require.Empty(t, b.server.Boxes())
		})
	}
}

// again retries until success, as an activity does, while the error code allows a retry.
func again(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for range 4 {
		if err = try(); err == nil {
			return
		}
		require.Contains(t, []task.Code{task.CodeUnavailable, task.CodeNotFound, task.CodeConflict}, task.CodeOf(err), err.Error())
	}
	require.NoError(t, err)
}

// says waits until the log contains text.
func says(t *testing.T, p *daytona.Provider, labels sandbox.Labels, text string) {
	t.Helper()
	require.Eventually(t, func() bool {
		r, err := p.Log(t.Context(), labels, 0)
		if err != nil {
			return false
		}
		defer r.Close()
		said, err := io.ReadAll(r)
		return err == nil && strings.Contains(string(said), text)
	}, 30*time.Second, 10*time.Millisecond, text)
}

func sh(script string) sandbox.Command { return sandbox.Command{Args: []string{"sh", "-c", script}} }

func readAll(p *daytona.Provider, ctx context.Context, labels sandbox.Labels, name string) (string, error) { //nolint:revive // the provider is the subject
	r, err := p.ReadFile(ctx, labels, name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	return string(text), err
}

func TestEnsure_ReplacesFailedSandbox(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p := b.open(t)
	b.server.Faults().Set(daytonatest.Fault{Switch: daytonatest.CreateError, Times: 1, Message: "the runner is out of breath"})
	box, labels := b.ensure(t, p)
	require.False(t, box.Adopted)
	b.end(t, p, labels)

	b.server.Faults().Set(daytonatest.Fault{Switch: daytonatest.CreateError, Message: "the runner is out of breath"})
	_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	code(t, task.CodeUnavailable, err)
	require.Contains(t, task.MessageOf(err), "the runner is out of breath")
	b.end(t, p, labels)
}

func TestEnsure_LateCreate(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p := b.open(t)
	b.server.Faults().Set(daytonatest.Fault{Switch: daytonatest.LateCreate, Times: 1, Delay: time.Hour})
	_, labels := b.ensure(t, p)
	b.server.Advance(2 * time.Hour)
	b.end(t, p, labels)

	b.server.Faults().Set(daytonatest.Fault{Switch: daytonatest.LateCreate, Delay: time.Hour})
	late := someLabels()
	_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: late})
	code(t, task.CodeUnavailable, err)
	require.NoError(t, p.Delete(t.Context(), late), "nothing is there yet")
	b.server.Advance(2 * time.Hour)
	require.Eventually(t, func() bool { return len(b.server.Boxes()) == 1 }, 30*time.Second, 5*time.Millisecond)
	require.Positive(t, p.Capabilities().LongestCreate, "hence the second look")
	b.end(t, p, late)
}

func TestEnsure_RateLimit(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p := b.open(t)
	b.server.Faults().Set(daytonatest.Fault{
		Switch: daytonatest.TooMany, Method: http.MethodPost, Path: "/api/sandbox", Times: 1, RetryAfter: 1, Header: "Retry-After-Sandbox-Create",
	})
	begun := time.Now()
	_, labels := b.ensure(t, p)
	require.GreaterOrEqual(t, time.Since(begun), time.Second)
	b.end(t, p, labels)

	b.server.Faults().Set(daytonatest.Fault{Switch: daytonatest.TooMany, Method: http.MethodPost, Path: "/api/sandbox", RetryAfter: 3600})
	_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: someLabels()})
	code(t, task.CodeExhausted, err)
	require.Contains(t, task.MessageOf(err), "again in 1h0m0s")
	require.Equal(t, time.Hour, task.AfterOf(err), "nobody is to ask again before")
}

// TestEnsure_RateLimitEndsPoll checks that polling ends when Daytona names a long wait.
func TestEnsure_RateLimitEndsPoll(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p := b.open(t)
	limit := daytonatest.Fault{Switch: daytonatest.TooMany, Method: http.MethodGet, Path: "/api/sandbox/*", RetryAfter: 3600, Times: 5, Skip: 1}
	b.server.Faults().Set(limit)
	_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: someLabels()})
	code(t, task.CodeExhausted, err)
	require.Equal(t, time.Hour, task.AfterOf(err))
	require.Equal(t, limit.Times-1, b.server.Faults().On()[0].Times, "it was asked once")
}

func TestEnsure_ActivatesSnapshot(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p := b.open(t)
	b.server.Faults().Set(daytonatest.Fault{Switch: daytonatest.InactiveSnapshot})
	box, labels := b.ensure(t, p)
	require.Contains(t, box.Isolation, "snapshot ai-agent-dev-light")
	require.True(t, box.FixedSize)
	b.end(t, p, labels)
}

func TestEnsure_MissingSnapshot(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p := b.open(t)
	b.server.Faults().Set(daytonatest.Fault{Switch: daytonatest.MissingSnapshot})
	labels := someLabels()
	box, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels, Limits: sandbox.Limits{MemoryBytes: 3 << 30, CPUs: 3, DiskBytes: 5 << 30}})
	require.NoError(t, err)
	require.Subset(t, box.Isolation, []string{"image instead of snapshot ai-agent-dev-light", "cpu 3", "memory 3 GiB", "disk 5 GiB"})
	require.Contains(t, string(b.traces(t)), daytona.DefaultImage)
	b.end(t, p, labels)
}

func TestDelete_StaysDestroying(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{}, func(c *daytona.Config) { c.DeletePatience = 100 * time.Millisecond })
	p := b.open(t)
	_, labels := b.ensure(t, p)
	b.server.Faults().Set(daytonatest.Fault{Switch: daytonatest.StuckDelete})
	code(t, task.CodeUnavailable, p.Delete(t.Context(), labels))
	seen, err := p.Inspect(t.Context(), labels)
	require.NoError(t, err)
	require.Equal(t, sandbox.StateAlive, seen.State, "it is still there, though it has lost its name")
	b.server.Faults().Reset()
	again(t, func() error { return p.Delete(t.Context(), labels) })
	b.end(t, p, labels)
}

func TestInspect_DeadDaemon(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{DeathLag: time.Second})
	p := b.open(t)
	_, labels := b.ensure(t, p)
	require.NoError(t, p.Start(t.Context(), labels, sh("sleep 600")))
	b.server.Faults().Set(daytonatest.Fault{Switch: daytonatest.DaemonDeath, Times: 1})
	for _, state := range []sandbox.State{sandbox.StateUnknown, sandbox.StateGone} {
		require.Eventually(t, func() bool {
			seen, err := p.Inspect(t.Context(), labels)
			return err == nil && seen.State == sandbox.StateAlive && seen.Agent == state
		}, 30*time.Second, 5*time.Millisecond, state)
	}
	b.end(t, p, labels)
}

func TestEnsure_DaemonDies(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{DeathLag: 100 * time.Millisecond})
	p := b.open(t)
	b.server.Faults().Set(daytonatest.Fault{Switch: daytonatest.DaemonDeath, Times: 1})
	labels := someLabels()
	again(t, func() error { // the daemon may have answered before it died
		_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
		return err
	})
	require.Len(t, b.server.Boxes(), 1)
	require.Empty(t, b.server.Faults().On(), "it has died once")
	b.end(t, p, labels)
}

func TestEnsure_Lifetime(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p, labels := b.open(t), someLabels()
	_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels, Lifetime: 5 * time.Hour})
	require.NoError(t, err)
	sent := string(b.traces(t))
	for _, net := range []string{`"autoStopInterval":300`, `"autoDeleteInterval":300`, `"ttlMinutes":300`, `"public":false`} {
		require.Contains(t, sent, net)
	}
	b.server.Advance(6 * time.Hour)
	require.Eventually(t, func() bool { return len(b.server.Boxes()) == 0 }, 30*time.Second, 5*time.Millisecond)
}

func TestReadFile_StartsStoppedSandbox(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p := b.open(t)
	box, labels := b.ensure(t, p)
	require.NoError(t, p.Start(t.Context(), labels, sh("echo kept > kept; echo up; sleep 600")))
	says(t, p, labels, "up")
	b.call(t, http.MethodPost, "/sandbox/"+box.ProviderID+"/stop")
	require.Eventually(t, func() bool {
		seen, err := p.Inspect(t.Context(), labels)
		return err == nil && seen.Agent == sandbox.StateGone && strings.Contains(seen.Reason, "stopped")
	}, 30*time.Second, 5*time.Millisecond)
	text, err := readAll(p, t.Context(), labels, "/workspace/kept")
	require.NoError(t, err)
	require.Equal(t, "kept\n", text)
	seen, err := p.Inspect(t.Context(), labels)
	require.NoError(t, err)
	require.True(t, seen.Started)
	require.Equal(t, sandbox.StateGone, seen.Agent, "what ran before the stop does not run again")
	b.end(t, p, labels)
}

// call sends a request to the API that bypasses the provider.
func (b *bed) call(t *testing.T, method, path string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, b.server.URL()+path, http.NoBody)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+b.server.Key())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Less(t, resp.StatusCode, 300)
}

func TestEnsure_InvalidKey(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p, labels := b.open(t), someLabels()
	_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	require.NoError(t, err)
	for key, says := range map[string]string{"": "Daytona API key not configured. Next: set DAYTONA_API_KEY", "dtn_wrong": "DAYTONA_API_KEY to a valid key"} {
		b.cfg.APIKey = key
		q := b.open(t)
		_, err := q.Ensure(t.Context(), sandbox.Spec{Labels: someLabels()})
		code(t, task.CodeForbidden, err)
		require.Contains(t, task.MessageOf(err), says)
		seen, err := q.Inspect(t.Context(), labels)
		require.NoError(t, err)
		require.Equal(t, sandbox.StateUnknown, seen.State, "never gone while it cannot be asked")
		code(t, task.CodeUnavailable, q.Delete(t.Context(), labels))
		_, err = q.List(t.Context(), labels.Installation)
		code(t, task.CodeUnavailable, err)
		require.Equal(t, key == "", q.Ready() != nil)
	}
	b.end(t, p, labels)
}

// TestSeparateInstallations checks that two installations in one account do not list or delete sandboxes of each other,
// and that Survey returns both.
func TestSeparateInstallations(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p, mine, theirs := b.open(t), someLabels(), someLabels()
	theirs.Installation = "another"
	for _, labels := range []sandbox.Labels{mine, theirs} {
		_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
		require.NoError(t, err)
	}
	all, err := p.Survey(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []sandbox.Labels{mine, theirs}, labelsOf(all))
	listed, err := p.List(t.Context(), mine.Installation)
	require.NoError(t, err)
	require.Equal(t, []sandbox.Labels{mine}, labelsOf(listed))
	confused := theirs
	confused.Installation = mine.Installation
	require.NoError(t, p.Delete(t.Context(), confused))
	require.Len(t, b.server.Boxes(), 2)
	for _, labels := range []sandbox.Labels{mine, theirs} {
		require.NoError(t, p.Delete(t.Context(), labels))
	}
	require.Empty(t, b.server.Boxes())
}

func labelsOf(boxes []sandbox.Sandbox) []sandbox.Labels {
	var out []sandbox.Labels
	for _, box := range boxes {
		out = append(out, box.Labels)
	}
	return out
}

func TestCheck(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p := b.open(t)
	for _, c := range []struct {
		fault daytonatest.Switch
		says  string
	}{
		{"", "snapshot ai-agent-dev-light"},
		{daytonatest.InactiveSnapshot, "is inactive"},
		{daytonatest.MissingSnapshot, "snapshot ai-agent-dev-light does not exist; image " + daytona.DefaultImage},
	} {
		if c.fault != "" {
			b.server.Faults().Set(daytonatest.Fault{Switch: c.fault})
		}
		said, err := p.Check(t.Context())
		require.NoError(t, err)
		require.Contains(t, said, c.says)
		b.server.Faults().Reset()
	}
	require.Empty(t, b.server.Boxes())
	b.cfg.APIKey = "dtn_wrong"
	_, err := b.open(t).Check(t.Context())
	code(t, task.CodeForbidden, err)
}

func TestExec_DeletedMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p := b.open(t)
	_, labels := b.ensure(t, p)
	over := make(chan error, 1)
	go func() {
		_, err := sandbox.Exec(t.Context(), p, labels, sh("touch begun; sleep 600"))
		over <- err
	}()
	require.Eventually(t, func() bool {
		_, err := readAll(p, t.Context(), labels, "/workspace/begun")
		return err == nil
	}, 30*time.Second, 10*time.Millisecond)
	b.end(t, p, labels)
	code(t, task.CodeNotFound, <-over)
}
