package openhands_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/task"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
	openhandstest "github.com/omoi-dev/omoi/internal/testkit/openhands"
)

// patience is how long a test waits for the real server, which may be on a busy machine.
const patience = 2 * time.Minute

// talk is a conversation on a server with a scripted model.
type talk struct {
	*testing.T

	server *openhands.Server
	id     string
	dir    string
	model  openhands.Model
}

// open creates a conversation with a model that plays turns.
func open(t *testing.T, server *openhands.Server, turns ...modeltest.Turn) *talk {
	t.Helper()
	return openWith(t, server, openhands.Model{Name: "openai/gpt-4o", Key: "planted-model-key", Base: modeltest.New(t, turns...).URL + "/v1"})
}

func openWith(t *testing.T, server *openhands.Server, model openhands.Model) *talk {
	t.Helper()
	a := &talk{T: t, server: server, id: task.NewID(), dir: t.TempDir(), model: model}
	now, err := server.Create(t.Context(), a.id, a.dir, a.model)
	require.NoError(t, err)
	require.Equal(t, a.id, now.ID)
	require.Equal(t, openhands.StatusIdle, now.Status)
	return a
}

func (a *talk) says(text string) {
	a.Helper()
	require.NoError(a, a.server.Say(a.Context(), a.id, text))
}

// until waits for a final status that follows a running one, and returns all events.
func (a *talk) until(want openhands.Status) []openhands.Event {
	a.Helper()
	var all []openhands.Event
	require.Eventually(a, func() bool {
		now, err := a.server.Get(a.Context(), a.id)
		if err != nil || now.Status != want {
			return false
		}
		all, _, err = a.server.After(a.Context(), a.id, "")
		return err == nil && lastStatus(all) == want
	}, patience, 100*time.Millisecond)
	return all
}

// left returns the files in the folder of the server that belong to the conversation.
func (a *talk) left(dir string) (files []string) {
	a.Helper()
	require.NoError(a, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // of another test, which runs
		}
		text, _ := os.ReadFile(path)
		for _, id := range []string{a.id, strings.ReplaceAll(a.id, "-", "")} {
			if strings.Contains(path+string(text), id) {
				files = append(files, path)
			}
		}
		return nil
	}))
	return files
}

func lastStatus(all []openhands.Event) (last openhands.Status) {
	for _, e := range all {
		if now := e.Status(); now != "" {
			last = now
		}
	}
	return last
}

func of(all []openhands.Event, kind string) (found []openhands.Event) {
	for _, e := range all {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

func (a *talk) waitFile(name string) string {
	a.Helper()
	var text []byte
	require.Eventually(a, func() bool {
		text, _ = os.ReadFile(filepath.Join(a.dir, name))
		return strings.HasSuffix(string(text), "\n")
	}, patience, 50*time.Millisecond)
	return strings.TrimSpace(string(text))
}

func finish(text string) modeltest.Turn {
	return modeltest.Turn{Tools: []modeltest.Tool{{Name: "finish", Input: map[string]any{"message": text}}}}
}

func shell(command string) modeltest.Turn {
	return modeltest.Turn{Tools: []modeltest.Tool{modeltest.Shell(command)}}
}

// woken counts the requests of a server's webhooks by the last part of their path: the ID of a conversation without dashes.
type woken struct {
	mu sync.Mutex
	by map[string]int
}

func (w *woken) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.by[path.Base(r.URL.Path)]++
}

func (w *woken) of(id string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.by[strings.ReplaceAll(id, "-", "")]
}

// TestServer runs what omoi needs of the server against the real one: creation, life cycle and streaming.
func TestServer(t *testing.T) {
	t.Parallel()
	calls := &woken{by: map[string]int{}}
	wake := httptest.NewServer(calls)
	t.Cleanup(wake.Close)
	setup := openhandstest.Setup(t, openhandstest.Real(t))
	setup.Wake = wake.URL
	server := openhandstest.Start(t, setup)
	for name, test := range map[string]func(t *testing.T, server *openhands.Server){
		"check": testCheck, "create": testCreate, "interrupt": testInterrupt, "failures": testFailures, "files": testFiles,
		"life":   func(t *testing.T, server *openhands.Server) { t.Helper(); testLife(t, server, setup.Dir) },
		"stream": func(t *testing.T, server *openhands.Server) { t.Helper(); testStream(t, server, calls) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, server)
		})
	}
}

func testCheck(t *testing.T, server *openhands.Server) {
	t.Helper()
	info, err := server.Check(t.Context())
	require.NoError(t, err)
	require.Equal(t, openhands.Tested, info.Version)
	require.NoError(t, server.Alive(t.Context()))
}

// A repeated create is the same conversation, also at the same time.
func testCreate(t *testing.T, server *openhands.Server) {
	t.Helper()
	a := open(t, server)
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			now, err := server.Create(t.Context(), a.id, a.dir, a.model)
			if err != nil || now.ID != a.id {
				t.Errorf("create again: %v, %s", err, now.ID)
			}
		})
	}
	wg.Wait()
	_, err := server.Get(t.Context(), task.NewID())
	require.Equal(t, task.CodeNotFound, task.CodeOf(err), err)
}

// A conversation runs commands, ends, can be continued and is deleted.
func testLife(t *testing.T, server *openhands.Server, dir string) {
	t.Helper()
	a := open(t, server, shell("python3 -c 'import math; print(math.comb(50, 25))'"), finish("The result is 126410606437752."), modeltest.Turn{Text: "Yes.", Expect: modeltest.Saying("Sure?")})
	heard, err := server.Heard(t.Context(), a.id, "[mark 1]")
	require.NoError(t, err)
	require.False(t, heard)
	a.says("Compute C(50,25).\n[mark 1]")
	all := a.until(openhands.StatusFinished)
	heard, err = server.Heard(t.Context(), a.id, "[mark 1]")
	require.NoError(t, err)
	require.True(t, heard)

	calls := of(all, openhands.KindAction)
	require.Equal(t, "terminal", calls[0].Tool)
	require.Contains(t, calls[0].Call.Arguments, "math.comb")
	require.Equal(t, openhands.ToolFinish, calls[1].Tool)
	results := of(all, openhands.KindObservation)
	require.Equal(t, calls[0].CallID, results[0].CallID)
	require.Zero(t, *results[0].Observation.ExitCode)
	require.Contains(t, openhands.Joined(results[0].Observation.Content), "126410606437752")
	require.Eventually(t, func() bool {
		now, err := server.Get(t.Context(), a.id)
		return err == nil && now.Used().Tokens.Prompt == 2000 && now.Used().Tokens.Completion == 20
	}, patience, 100*time.Millisecond, "the tokens of both requests")

	a.says("Sure?")
	require.Eventually(t, func() bool {
		all, _, err := server.After(t.Context(), a.id, "")
		said := of(all, openhands.KindMessage)
		return err == nil && len(said) == 3 && openhands.Joined(said[2].Message.Content) == "Yes."
	}, patience, 100*time.Millisecond)
	require.NotEmpty(t, a.left(dir))
	require.NoError(t, server.Delete(t.Context(), a.id))
	require.NoError(t, server.Delete(t.Context(), a.id))
	require.Empty(t, a.left(dir), "nothing of a deleted conversation is left on the server")
	_, err = server.Get(t.Context(), a.id)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err), err)
}

// The events after a cursor are those that follow, each once and in order, and each wakes a listener.
func testStream(t *testing.T, server *openhands.Server, calls *woken) {
	t.Helper()
	a := open(t, server, shell("echo 1"), shell("echo 2"), finish("done"))
	a.says("Begin.")
	var seen []string
	last := ""
	require.Eventually(t, func() bool {
		more, restarted, err := server.After(t.Context(), a.id, last)
		if err != nil || restarted {
			t.Errorf("read events after %q: %v, restarted %t", last, err, restarted)
		}
		for _, e := range more {
			last, seen = e.ID, append(seen, e.ID)
		}
		return len(of(more, openhands.KindState)) > 0 && lastStatus(more) == openhands.StatusFinished
	}, patience, 10*time.Millisecond)
	a.until(openhands.StatusFinished)
	all, _, err := server.After(t.Context(), a.id, "")
	require.NoError(t, err)
	for at, id := range seen {
		require.Equal(t, all[at].ID, id)
	}
	require.Eventually(t, func() bool { return calls.of(a.id) > 5 }, patience, 10*time.Millisecond)
	again, restarted, err := server.After(t.Context(), a.id, task.NewID())
	require.NoError(t, err)
	require.True(t, restarted, "the server knows no such event")
	require.Len(t, again, len(all))
}

// An interrupt ends the tool, and the conversation can be continued.
func testInterrupt(t *testing.T, server *openhands.Server) {
	t.Helper()
	a := open(t, server, shell("echo $$ > pid; python3 -c 'import time; time.sleep(1000)'"), finish("went on"))
	a.says("Begin.")
	a.waitFile("pid")
	require.NoError(t, server.Interrupt(t.Context(), a.id))
	all := a.until(openhands.StatusPaused)
	require.Len(t, of(all, openhands.KindToolError), 1)
	require.NoError(t, server.Run(t.Context(), a.id))
	a.until(openhands.StatusFinished)
}

// The server says what the provider of a model refused.
func testFailures(t *testing.T, server *openhands.Server) {
	t.Helper()
	for status, class := range map[int]string{http.StatusUnauthorized: "auth", http.StatusBadRequest: "config", http.StatusInternalServerError: "transient"} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = w.Write([]byte(`{"error":{"message":"no"}}`))
			}))
			t.Cleanup(failing.Close)
			a := openWith(t, server, openhands.Model{Name: "openai/gpt-4o", Key: "x", Base: failing.URL + "/v1"})
			a.says("Begin.")
			failed := of(a.until(openhands.StatusError), openhands.KindError)
			require.Len(t, failed, 1)
			require.Equal(t, class, failed[0].Class.Kind, "%s: %s", failed[0].Code, failed[0].Detail)
		})
	}
}

func testFiles(t *testing.T, server *openhands.Server) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "new", "file")
	require.NoError(t, server.Upload(t.Context(), file, strings.NewReader("text"), time.Minute))
	out, err := server.Bash(t.Context(), "cat file; echo no >&2; exit 3", filepath.Dir(file), time.Minute)
	require.NoError(t, err)
	require.Equal(t, openhands.Output{ExitCode: 3, Stdout: "text", Stderr: "no\n"}, out)
	read, err := server.Download(t.Context(), file)
	require.NoError(t, err)
	require.NoError(t, read.Close())
	_, err = server.Download(t.Context(), file+"x")
	require.Equal(t, task.CodeNotFound, task.CodeOf(err), err)
}

// TestServer_Faults kills, freezes and robs a server, and changes its keys.
func TestServer_Faults(t *testing.T) {
	t.Parallel()
	setup := openhandstest.Setup(t, openhandstest.Real(t))
	server := openhandstest.Start(t, setup)
	a := open(t, server, shell("echo one"), shell("echo $$ > pid; sleep 1000"), finish("went on"))
	a.says("Begin.")
	a.waitFile("pid")

	require.NoError(t, syscall.Kill(server.PID, syscall.SIGSTOP))
	require.Equal(t, task.CodeUnavailable, task.CodeOf(server.Alive(t.Context())), "a frozen server gives no answer")
	require.NoError(t, syscall.Kill(server.PID, syscall.SIGCONT))
	require.Eventually(t, func() bool { return server.Alive(t.Context()) == nil }, patience, 100*time.Millisecond)

	before, _, err := server.After(t.Context(), a.id, "")
	require.NoError(t, err)
	server.Stop(0)
	setup.Keys.Session = openhands.NewKeys().Session
	a.server = openhandstest.Start(t, setup)
	after := a.until(openhands.StatusError)
	for at, e := range before {
		require.Equal(t, e.ID, after[at].ID, "no event is lost")
	}
	require.NotEmpty(t, of(after[len(before):], openhands.KindToolError), "the open call has an end")
	require.NoError(t, a.server.Run(t.Context(), a.id))
	a.until(openhands.StatusFinished)
	refused, err := openhands.New(a.server.Address(), setup.Keys.Session+"x")
	require.NoError(t, err)
	_, err = refused.Check(t.Context())
	require.Equal(t, task.CodeUnauthorized, task.CodeOf(err), err)

	a.server.Stop(0)
	setup.Dir = t.TempDir()
	a.server = openhandstest.Start(t, setup)
	_, err = a.server.Get(t.Context(), a.id)
	require.Equal(t, task.CodeNotFound, task.CodeOf(err), "the data folder is gone: %v", err)
}

// A server with another secret key has lost the key of the model: the conversation fails. What it stored did not have that key in it.
func TestServer_OtherSecretKey(t *testing.T) {
	t.Parallel()
	setup := openhandstest.Setup(t, openhandstest.Real(t))
	server := openhandstest.Start(t, setup)
	a := open(t, server, shell("echo $$ > pid; sleep 1000"))
	a.says("Begin.")
	a.waitFile("pid")
	stored, err := os.ReadFile(filepath.Join(setup.Dir, "conversations", strings.ReplaceAll(a.id, "-", ""), "base_state.json"))
	require.NoError(t, err)
	require.NotContains(t, string(stored), "planted-model-key")
	server.Stop(0)
	setup.Keys = openhands.NewKeys()
	a.server = openhandstest.Start(t, setup)
	a.until(openhands.StatusError)
	require.NoError(t, a.server.Run(t.Context(), a.id))
	require.Eventually(t, func() bool {
		all, _, err := a.server.After(t.Context(), a.id, "")
		return err == nil && len(of(all, openhands.KindError)) == 1
	}, patience, 100*time.Millisecond)
}
