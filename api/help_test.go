package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/ingest"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/postgres"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
	apitest "github.com/omoi-dev/omoi/internal/testkit/api"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
	"github.com/omoi-dev/omoi/internal/token"
	"github.com/omoi-dev/omoi/internal/wait"
)

func TestMain(m *testing.M) {
	// Each test waits for its database most of the time; -parallel wins.
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("os/exec.(*Cmd).Start.func2"))
}

// world is a server on a database of its own, with a real store, ingest and bus. Its responses are validated against
// the OpenAPI document.
type world struct {
	t     testing.TB
	pool  *pgxpool.Pool
	store *postgres.Store
	bus   live.Bus
	ring  *token.Ring
	org   string
	url   string
	repos *repos
	flow  *flow

	schedules *schedules
	senders   apitest.Senders // of the events
}

// repos has one repository, and another one without a credential.
type repos struct {
	diff string
	who  atomic.Value // the scm.Owner of the last check

	noBranch atomic.Pointer[error] // error of a diff; nil: the branch exists

	named  atomic.Int64
	during func() // called in each check; may be nil
}

const (
	goodRepo   = "/srv/git/app"
	lockedRepo = "acme/locked"
)

func (r *repos) Name(repo string) string {
	r.named.Add(1)
	return strings.ToLower(repo)
}

func (r *repos) Check(_ context.Context, who scm.Owner, repo string) (string, error) {
	r.who.Store(who)
	if r.during != nil {
		r.during()
	}
	switch r.Name(repo) {
	case goodRepo:
		return r.Name(repo), nil
	case lockedRepo:
		return "", task.Errorf(task.CodeForbidden, "There is no GitHub token.").WithCause(scm.ErrNoCredential)
	}
	return "", task.Invalid("repo", "There is nothing at %s. Next: git clone <url> %s", repo, repo)
}

func (r *repos) Head(_ context.Context, _ scm.Owner, repo, branch string) (string, error) {
	if branch == "gone" {
		return "", task.Invalid("branch", "Repository %s has no branch %q.", repo, branch)
	}
	return "head of " + branch, nil
}

func (r *repos) Diff(_ context.Context, _ scm.Owner, _ api.BranchDiff, w io.Writer) error {
	if err := r.noBranch.Load(); err != nil {
		return *err
	}
	_, err := io.WriteString(w, r.diff)
	return err
}

// open starts a server without authentication.
func open(tb testing.TB) *world {
	tb.Helper()
	return start(tb, func(c *api.Config) { c.Open = true })
}

func start(tb testing.TB, change func(*api.Config)) *world {
	tb.Helper()
	return startOn(tb, pgtest.New(tb), live.New(), change)
}

// startOn starts one of the processes that share a database and a bus.
func startOn(tb testing.TB, pool *pgxpool.Pool, bus live.Bus, change func(*api.Config)) *world {
	tb.Helper()
	return startWith(tb, pool, bus, change, func(*api.Deps) {})
}

func startWith(tb testing.TB, pool *pgxpool.Pool, bus live.Bus, change func(*api.Config), with func(*api.Deps)) *world {
	tb.Helper()
	w := &world{
		t: tb, pool: pool, store: postgres.New(pool, postgres.Config{}), bus: bus, repos: &repos{}, flow: &flow{},
		schedules: &schedules{},
	}
	tb.Cleanup(w.store.Close)
	var err error
	w.org, err = w.store.EnsureOrganization(tb.Context(), "default")
	require.NoError(tb, err)
	w.ring, err = token.NewRing(token.Key{ID: "k1", Secret: []byte(strings.Repeat("s", 32))}, nil)
	require.NoError(tb, err)
	logins, err := token.NewLogins(jwtSecret)
	require.NoError(tb, err)
	cfg := api.Config{
		Organization: w.org, Version: "test", CommandWait: 50 * time.Millisecond, CommandPoll: 5 * time.Millisecond,
	}
	change(&cfg)
	deps := api.Deps{
		Ports: api.PortsOf(w.store), Intake: w.intake(cfg.Open), Bus: w.bus, Repos: w.repos, Review: &files{}, Tokens: w.ring, Sessions: w.ring, Logins: logins,
		Credentials: w.keeper(), NoticeRules: w.noticer(), Branches: w.flow,
		Judge: guardian.New(guardian.Config{Fresh: -1}, guardian.Deps{Store: w.store}), Schedules: w.schedules,
		Probes: []api.Probe{{Name: "database", Required: true, Check: w.store.Ping}, {Name: "redis"}},
	}
	with(&deps)
	handler := api.New(cfg, deps)
	w.url = serve(tb, handler)
	return w
}

// serve serves on a port of its own until the test ends.
func serve(tb testing.TB, handler *api.API) (url string) {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- api.Serve(ctx, handler, []net.Listener{l}, time.Minute) }()
	tb.Cleanup(func() {
		cancel()
		require.NoError(tb, <-done)
	})
	return "http://" + l.Addr().String()
}

// unmetered counts nothing.
type unmetered struct{}

func (unmetered) Committed(int, int, int, time.Duration) {}
func (unmetered) Waited(time.Duration)                   {}
func (unmetered) TurnedAway()                            {}
func (unmetered) Lost(int)                               {}
func (unmetered) CheckpointFailed(string)                {}

// intake starts an intake that runs until the test ends.
func (w *world) intake(bare bool) *ingest.Intake {
	intake := ingest.NewIntake(ingest.IntakeConfig{AllowBare: bare, Meter: unmetered{}}, w.store, w.bus, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- intake.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		require.NoError(w.t, <-done)
	})
	return intake
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	_, err := w.pool.Exec(w.t.Context(), sql, args...)
	require.NoError(w.t, err)
}

func (w *world) count(sql string, args ...any) int {
	w.t.Helper()
	var n int
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), sql, args...).Scan(&n))
	return n
}

// due listens as the relays do. The function that it returns waits until the database notifies.
func (w *world) due() (notified func()) {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	told, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- w.store.ListenRelays(ctx, func() { wait.Notify(told) }) }()
	w.t.Cleanup(stop)
	notified = func() {
		select {
		case <-told:
		case err := <-ended:
			assert.NoError(w.t, err, "listen")
		case <-time.After(time.Minute):
			assert.Fail(w.t, "the database notifies no relay")
		}
	}
	notified() // the listener is connected
	return notified
}

// answer is a response.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// call sends a request. A body other than a string or bytes is sent as JSON. Headers come in pairs.
func (w *world) call(method, path string, body any, headers ...string) answer {
	w.t.Helper()
	var content []byte
	switch b := body.(type) {
	case nil:
	case string:
		content = []byte(b)
	case []byte:
		content = b
	default:
		var err error
		content, err = json.Marshal(b)
		require.NoError(w.t, err)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, bytes.NewReader(content))
	require.NoError(w.t, err)
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n+1 < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
		if headers[n] == "Host" {
			req.Host = headers[n+1]
		}
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(w.t, err)
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	require.NoError(w.t, err)
	judge(w.t, w.senders, res, got)
	return answer{t: w.t, status: res.StatusCode, header: res.Header, body: got}
}

// ok decodes a response of the expected status.
func ok[T any](a answer, status int) T {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s", a.body)
	var out T
	require.NoError(a.t, json.Unmarshal(a.body, &out), "%s", a.body)
	return out
}

// refused expects a problem document with a sentence.
func (a answer) refused(status int, location string) client.Problem {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s", a.body)
	require.Equal(a.t, "application/problem+json", a.header.Get("Content-Type"))
	var p client.Problem
	require.NoError(a.t, json.Unmarshal(a.body, &p), "%s", a.body)
	require.Equal(a.t, status, p.Status)
	require.NotEmpty(a.t, p.Title)
	require.NotEmpty(a.t, p.Instance)
	require.Regexp(a.t, `^\S.*\s.*\S$`, p.Detail, "a sentence")
	if location != "" {
		require.NotEmpty(a.t, p.Errors, "%s", a.body)
		require.Equal(a.t, location, p.Errors[0].Location)
	}
	return p
}

// newTask returns a valid request.
func newTask() client.CreateTaskRequest {
	return client.CreateTaskRequest{Repo: goodRepo, Title: "Write a file", Agent: "external"}
}

func (w *world) task(in client.CreateTaskRequest) client.Task {
	w.t.Helper()
	return ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", in), http.StatusCreated)
}

// begin starts an attempt of a task in a sandbox, as its workflow would.
func (w *world) begin(t client.Task) string {
	w.t.Helper()
	id := task.NewSandboxID()
	w.exec(`INSERT INTO sandboxes (id, organization_id, task_id, attempt, provider, machine, state)
		VALUES ($1, $2, $3, 1, 'external', false, 'running')`, id, w.org, t.ID)
	w.exec(
		`INSERT INTO attempts (task_id, number, sandbox_id, run_id, ordinal, assigned_at) VALUES ($1, 1, $2, 'r', 1, now())`,
		t.ID, id,
	)
	w.exec(`UPDATE tasks SET status = 'running', sandbox_id = $2, attempt_count = 1, queued_at = NULL WHERE id = $1`,
		t.ID, id)
	w.exec(`UPDATE task_outbox SET sandbox_id = $2 WHERE task_id = $1`, t.ID, id)
	return id
}

// end ends a task and deletes its sandboxes.
func (w *world) end(t client.Task, status task.Status) {
	w.t.Helper()
	w.decide(t, status)
	w.exec(`UPDATE sandboxes SET gone_at = now() WHERE task_id = $1`, t.ID)
}

// decide ends a task whose sandboxes still exist.
func (w *world) decide(t client.Task, status task.Status) {
	w.t.Helper()
	w.exec(`UPDATE attempts SET ended_at = now(), outcome = $2 WHERE task_id = $1`, t.ID, string(status))
	w.exec(`UPDATE tasks SET status = $2, sandbox_id = NULL, queued_at = NULL, completed_at = now() WHERE id = $1`,
		t.ID, string(status))
}

// settle stores a command receipt, as the projection would.
func (w *world) settle(commandID string, r task.Receipt) {
	w.exec(`UPDATE commands SET state = $2, settled_at = now(), reason = 'because' WHERE id = $1`, commandID, string(r))
}
