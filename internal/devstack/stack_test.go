package devstack_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.uber.org/goleak"

	"github.com/omoi-dev/omoi/internal/devstack"
	"github.com/omoi-dev/omoi/internal/task"
)

const asHelper = "OMOI_TEST_DEVSTACK_HOME"

// TestMain also runs as the process that tests kill: it starts a stack, prints its addresses and waits.
func TestMain(m *testing.M) {
	if home := os.Getenv(asHelper); home != "" {
		helper(home)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

func helper(home string) {
	stack, err := devstack.Start(context.Background(), settings(home))
	if err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(stack.Info()); err != nil {
		panic(err)
	}
	<-time.After(24 * time.Hour) // the test kills the process; select {} would panic without cgo
}

func settings(home string) devstack.Config {
	return devstack.Config{
		Home: home, DataRoot: filepath.Join(os.TempDir(), "omoi-devstack-test"), PostgresVersion: "16.9.0", Namespace: "default",
		SearchAttributes: []string{"OmoiTest"}, StartTimeout: time.Minute, Log: slog.New(slog.DiscardHandler),
	}
}

// prepared returns a configuration, and skips the test if programs are missing.
func prepared(t *testing.T) devstack.Config {
	t.Helper()
	if devstack.FindPostgres("", "") == "" {
		t.Skip("SKIPPED: no PostgreSQL programs on this machine")
	}
	if _, err := devstack.FindTemporal(""); err != nil {
		t.Skip("SKIPPED: ", err)
	}
	home := t.TempDir()
	cfg := settings(home)
	t.Cleanup(func() { _ = os.RemoveAll(filepath.Dir(cfg.PrivateDir("x"))) })
	return cfg
}

func start(t *testing.T, cfg devstack.Config) *devstack.Stack {
	t.Helper()
	stack, err := devstack.Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stack.Close()) })
	return stack
}

func query(t *testing.T, info devstack.Info, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), info.DatabaseURL)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	rows, err := conn.Query(t.Context(), sql)
	require.NoError(t, err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(got, ",")
}

// startWorkflow starts a workflow that has no worker.
func startWorkflow(t *testing.T, info devstack.Info, id string) {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: info.TemporalAddress, Namespace: info.TemporalNamespace})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "none"}, "nothing")
	require.NoError(t, err)
}

func hasWorkflow(t *testing.T, info devstack.Info, id string) bool {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: info.TemporalAddress, Namespace: info.TemporalNamespace})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.DescribeWorkflowExecution(t.Context(), id, "")
	return err == nil
}

// A start with the same home keeps rows, workflows and ports. A start with another home has its own.
func TestStart_KeepsState(t *testing.T) {
	t.Parallel()
	cfg := prepared(t)
	first, err := devstack.Start(t.Context(), cfg)
	require.NoError(t, err)
	info := first.Info()
	query(t, info, "CREATE TABLE kept (word text)")
	query(t, info, "INSERT INTO kept VALUES ('here')")
	startWorkflow(t, info, "kept")

	other := start(t, prepared(t)).Info()
	require.NotEqual(t, info.TemporalAddress, other.TemporalAddress)
	require.Equal(t, "f", query(t, other, "SELECT left((to_regclass('kept') IS NOT NULL)::text, 1)"))
	require.False(t, hasWorkflow(t, other, "kept"))

	require.NoError(t, devstack.WriteInfo(cfg.Home, info))
	require.NoError(t, first.Close())
	again := start(t, cfg).Info()
	require.Equal(t, info, again)
	require.Equal(t, "here", query(t, again, "SELECT word FROM kept"))
	require.True(t, hasWorkflow(t, again, "kept"))
}

// After kill -9 of the owner, the next start uses the same data, and no process of the killed start is left.
func TestStart_AfterKill(t *testing.T) {
	t.Parallel()
	cfg := prepared(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asHelper+"="+cfg.Home)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	var info devstack.Info
	require.NoError(t, json.NewDecoder(bufio.NewReader(out)).Decode(&info))
	query(t, info, "CREATE TABLE kept AS SELECT 'here' AS word")
	startWorkflow(t, info, "kept")
	old := postmaster(t, cfg)
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	require.Error(t, cmd.Wait())

	again := start(t, cfg).Info()
	require.Equal(t, "here", query(t, again, "SELECT word FROM kept"))
	require.True(t, hasWorkflow(t, again, "kept"))
	require.NotEqual(t, old, postmaster(t, cfg))
}

func postmaster(t *testing.T, cfg devstack.Config) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(cfg.PrivateDir("postgres"), "data", "postmaster.pid"))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(t, err)
	return pid
}

// A PID file that names an unrelated process does not prevent a start.
func TestPostgres_IgnoresAForeignPIDFile(t *testing.T) {
	t.Parallel()
	cfg := prepared(t)
	first, err := devstack.Start(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, first.Close())
	stale := fmt.Sprintf("%d\n/elsewhere\n1\n5432\n\n\n", os.Getpid())
	path := filepath.Join(cfg.PrivateDir("postgres"), "data", "postmaster.pid")
	require.NoError(t, os.WriteFile(path, []byte(stale), 0o600))
	start(t, cfg)
}

// A component that ends is restarted on the same address.
func TestWatch_RestartsComponents(t *testing.T) {
	t.Parallel()
	cfg := prepared(t)
	info := start(t, cfg).Info()
	query(t, info, "CREATE TABLE kept AS SELECT 'here' AS word")
	startWorkflow(t, info, "kept")
	old := postmaster(t, cfg)
	require.NoError(t, syscall.Kill(old, syscall.SIGKILL))
	require.NoError(t, syscall.Kill(temporalPID(t, cfg), syscall.SIGKILL))
	require.Eventually(t, func() bool {
		conn, err := pgx.Connect(t.Context(), info.DatabaseURL)
		if err != nil {
			return false
		}
		var word string
		err = conn.QueryRow(t.Context(), "SELECT word FROM kept").Scan(&word)
		return conn.Close(t.Context()) == nil && err == nil && word == "here" && postmaster(t, cfg) != old
	}, time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		c, err := client.DialContext(t.Context(), client.Options{HostPort: info.TemporalAddress})
		if err != nil {
			return false
		}
		defer c.Close()
		_, err = c.DescribeWorkflowExecution(t.Context(), "kept", "")
		return err == nil
	}, time.Minute, 50*time.Millisecond)
}

func temporalPID(t *testing.T, cfg devstack.Config) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(cfg.Home, "temporal.pid"))
	require.NoError(t, err)
	var mark struct {
		PID int `json:"pid"`
	}
	require.NoError(t, json.Unmarshal(content, &mark))
	return mark.PID
}

func TestStart_FixedTemporalPortInUse(t *testing.T) {
	t.Parallel()
	cfg := prepared(t)
	listener, port := listen(t)
	defer func() { require.NoError(t, listener.Close()) }()
	cfg.TemporalPort = devstack.Port{Want: port, Fixed: true}
	_, err := devstack.Start(t.Context(), cfg)
	require.Equal(t, task.CodeConflict, task.CodeOf(err))
	require.ErrorContains(t, err, "dev.temporal_port")
}

// ofTemporal returns a configuration whose only component is a script in place of temporal, and a function that returns
// the number of its starts.
func ofTemporal(t *testing.T, then string) (cfg devstack.Config, starts func() int) {
	t.Helper()
	cfg = prepared(t)
	cfg.DatabaseURL = "postgres://unused"
	count := filepath.Join(cfg.Home, "starts")
	script := "#!/bin/sh\necho >> " + count + "\n" + then
	cfg.TemporalBin = filepath.Join(cfg.Home, "temporal")
	syscall.ForkLock.RLock() // a forked child must not hold the file open for writing
	err := os.WriteFile(cfg.TemporalBin, []byte(script), 0o700)
	syscall.ForkLock.RUnlock()
	require.NoError(t, err)
	return cfg, func() int {
		content, err := os.ReadFile(count)
		require.NoError(t, err)
		return strings.Count(string(content), "\n")
	}
}

// taken is the output of Temporal if a port is in use: it continues without a listener and panics.
const taken = `echo 'msg="no listener" error="listen tcp 127.0.0.1:4711: bind: address already in use"' >&2
echo 'panic: runtime error' >&2; exit 2`

// If another program takes a chosen port, Temporal is started on another port.
func TestStart_ChoosesPortsAgain(t *testing.T) {
	t.Parallel()
	path, err := devstack.FindTemporal("")
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	cfg, starts := ofTemporal(t, `[ $(wc -l < "$HOME/starts") -gt 2 ] && exec `+path+` "$@"; `+taken)
	start(t, cfg)
	require.Equal(t, 3, starts())
}

// If ports are taken repeatedly, the error names the next step and the log.
func TestStart_PortsTakenRepeatedly(t *testing.T) {
	t.Parallel()
	cfg, starts := ofTemporal(t, taken)
	_, err := devstack.Start(t.Context(), cfg)
	require.Equal(t, task.CodeConflict, task.CodeOf(err))
	require.ErrorContains(t, err, "run the same command again")
	require.ErrorContains(t, err, filepath.Join(cfg.Home, "temporal.log"))
	require.Equal(t, 3, starts())
}

// A component that ends at its start is not restarted. The error contains its output.
func TestStart_ComponentExits(t *testing.T) {
	t.Parallel()
	cfg, starts := ofTemporal(t, "echo no disk >&2; exit 1")
	_, err := devstack.Start(t.Context(), cfg)
	require.ErrorContains(t, err, "Temporal exited at startup (exit status 1): no disk")
	require.ErrorContains(t, err, filepath.Join(cfg.Home, "temporal.log"))
	require.Equal(t, 1, starts())
}
