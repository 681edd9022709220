package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/task"
)

// Finding is the outcome of one check of an agent's program.
type Finding struct {
	Name   string
	Err    error  // why the check failed; nil: it passed
	Detail string // what was seen
	Took   time.Duration
}

// Check runs the program at path as omoi runs it, with a model endpoint on this machine that only fails, and reports
// whether omoi takes each failure for what it is. Check needs no model and no credential.
func (d Dialect) Check(ctx context.Context, path string, report func(Finding)) {
	limit := task.ClassProviderLimit
	if d.Mute {
		limit = task.ClassInfrastructure
	}
	for _, c := range []struct {
		name string
		do   func(ctx context.Context) (string, error)
	}{
		{"it names its version", func(ctx context.Context) (string, error) { return d.named(ctx, path) }},
		{"a wrong key (401)", d.meets(path, http.StatusUnauthorized, task.ClassCredentials)},
		{"a rate limit (429)", d.meets(path, http.StatusTooManyRequests, limit)},
		{"a failing model (500)", d.meets(path, http.StatusInternalServerError, task.ClassInfrastructure)},
		{"a cancelled turn", d.meets(path, 0, task.ClassNone)},
	} {
		if ctx.Err() != nil {
			return
		}
		began := time.Now()
		detail, err := c.do(ctx)
		report(Finding{Name: c.name, Err: err, Detail: detail, Took: time.Since(began)})
	}
}

func (d Dialect) named(ctx context.Context, path string) (string, error) {
	home, err := os.MkdirTemp("", "omoi-check-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home) //nolint:errcheck // what the program leaves there is of no use
	version, err := d.Version(ctx, path, home, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home})
	return "Version " + version + ".", err
}

// meets returns a check that a turn at an endpoint which answers with a status ends in a class. Status 0: the endpoint
// does not answer, and the turn is cancelled.
func (d Dialect) meets(path string, status int, class task.FailureClass) func(ctx context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		dir, err := os.MkdirTemp("", "omoi-check-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // what the program leaves there is of no use
		address, asked, done, err := endpoint(status)
		if err != nil {
			return "", err
		}
		defer done()
		procs := &proc.Runner{}
		f, err := d.trial(ctx, trialAt{path: path, dir: dir, address: address, asked: asked, cancel: status == 0}, procs)
		killed, left := procs.KillAll()
		switch {
		case err != nil:
			return "", err
		case killed+left > 0:
			return "", fmt.Errorf("%d processes were left", killed+left)
		case class == task.ClassNone:
			return "The turn ended, and no process is left.", nil
		case f == nil:
			return "", fmt.Errorf("the turn counts as a success")
		case f.Class != class:
			return "", fmt.Errorf("the failure class is %s instead of %s: %s", f.Class, class, f.Text)
		}
		return fmt.Sprintf("Failure class %s: %s", f.Class, strings.Join(strings.Fields(f.Text), " ")), nil
	}
}

// endpoint serves a model endpoint on loopback that answers with a status, or not at all. asked is closed at its first
// request.
func endpoint(status int) (address string, asked <-chan struct{}, done func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns immediately
	if err != nil {
		return "", nil, nil, fmt.Errorf("listen for the agent: %w", err)
	}
	first := make(chan struct{})
	tell := sync.OnceFunc(func() { close(first) })
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			tell()
		}
		if status == 0 {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":{"code":%d,"type":"omoi_check","message":"omoi check: %s"}}`, status, http.StatusText(status))
	})}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), first, func() { _ = server.Close() }, nil
}

// trialAt is where and how a trial runs.
type trialAt struct {
	path, dir, address string
	asked              <-chan struct{}
	cancel             bool // cancel the turn once the agent has asked the model
}

// checkSilence is the time after which an agent that repeats a request without a word is stopped.
const checkSilence = 5 * time.Minute

// trial runs one turn, and returns its failure.
func (d Dialect) trial(ctx context.Context, at trialAt, procs *proc.Runner) (*continuous.Failure, error) {
	work, home := filepath.Join(at.dir, "work"), filepath.Join(at.dir, "home")
	for _, dir := range []string{work, home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	for name, value := range d.VarsAt(at.address, "omoi-check", "sk-omoi-check") {
		environ = append(environ, name+"="+value)
	}
	env := agent.Env{
		Config: agentconfig.Config{
			Workspace: work, Dir: at.dir, Program: at.path, Title: "Say hello", Description: "Say hello.", Grace: 8 * time.Second, ToolTimeout: time.Minute,
		},
		Environ: environ,
		Keep:    func(string, string) {}, Report: nowhere{}, Doing: &reporter.Activity{}, Procs: procs, Log: slog.New(slog.DiscardHandler),
	}
	t, err := Runtime{Dialect: d, Silence: checkSilence}.open(ctx, env)
	if err != nil {
		return nil, err
	}
	defer t.rec.log.Close()
	t.Receiver, t.end = &agent.MessageReceiver{}, &turn{}
	if err := t.ensure(ctx); err != nil {
		return nil, err
	}
	defer t.halt()
	if at.cancel {
		go func() {
			select {
			case <-at.asked:
				t.rec.enough("check")
			case <-ctx.Done():
			}
		}()
	}
	err = t.converse(ctx, t.words("", nil), nil)
	if at.cancel && err == nil && (t.end.stop != "check" || t.end.result == nil) {
		err = errors.New("the turn did not end when it was cancelled")
	}
	return t.Failure(), err
}

// nowhere drops events.
type nowhere struct{}

func (nowhere) Emit(string, map[string]any) {}
