package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// Steps that scripts of these tests are made of.
const (
	stepWrite    = `{"write":{"path":"hello.txt","content":"hello\n"}}`
	stepCommit   = `{"commit":"say hello"}`
	stepUnsaved  = `{"write":{"path":"notes.txt","content":"not committed\n"}}`
	stepComplete = `{"complete":{"output":"done","success":true}}`
	stepHang     = `{"hang":true}`
)

func TestTaskEndToEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	made := r.submit(repo, script(stepWrite, stepCommit, `{"bash":{"command":"wc -c hello.txt"}}`, `{"complete":{"output":"{{last_output}}","success":true}}`))
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 1, got.AttemptCount)
	require.NotEmpty(t, text(got.PullURL))
	show := r.run("git", "-C", repo, "show", text(got.Branch)+":hello.txt")
	require.Equal(t, "hello\n", show.stdout, show.stderr)
	require.Contains(t, string(got.Result), "6 hello.txt")
	r.noLeaks()
	r.gapless()
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.completed'`))
}

func TestRetryThenSuccess(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	// the first attempt commits and its agent is killed; the second finds the commit on the branch
	made := r.submit(repo, script(
		`{"bash":{"command":"echo try >> tries"}}`, `{"commit":"try"}`,
		`{"bash":{"command":"test $(wc -l < tries) -ge 2 || kill -9 $PPID"}}`,
		`{"bash":{"command":"wc -l < tries"}}`, `{"complete":{"output":"{{last_output}}","success":true}}`))
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 2, got.AttemptCount)
	require.Equal(t, 1, got.Retries)
	require.Equal(t, task.ClassInfrastructure, got.Attempts[0].FailureClass)
	require.Contains(t, string(got.Result), `"2`)
	require.Equal(t, "2\n", r.run("git", "-C", repo, "rev-list", "--count", "main.."+text(got.Branch)).stdout)
	r.noLeaks()
	r.gapless()
}

func TestFailedTaskIsRetriedByAPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	made := r.submit(repo, script(`{"bash":{"command":"test -f `+filepath.Join("/workspace", "nothing")+`"}}`, `{"fail":"the test says so"}`), retries(0))
	got := r.ends(made.ID, task.StatusFailed)
	require.Equal(t, task.ClassAgentError, got.FailureClass)
	require.Contains(t, text(got.ErrorMessage), "the test says so")
	r.noLeaks()

	_, _, err := r.api.Retry(context.Background(), made.ID, "once more")
	require.NoError(t, err)
	again := r.until(made.ID, "has a second attempt", func(t task.Task) bool { return t.AttemptCount == 2 && t.Status.Final() })
	require.Equal(t, task.StatusFailed, again.Status)
	require.Equal(t, text(got.Branch), text(again.Branch), "a retry goes on with its branch")
	require.NotEqual(t, again.Attempts[0].SandboxID, again.Attempts[1].SandboxID)
	r.noLeaks()
}

func TestCancelInMidRunSavesTheWork(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	made := r.submit(repo, script(stepWrite, stepHang))
	r.running(made.ID)
	r.until(made.ID, "has written", func(task.Task) bool {
		return r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.file_edited'`) > 0
	})
	asked, _, err := r.api.Cancel(context.Background(), made.ID, "enough")
	require.NoError(t, err)
	require.NotEmpty(t, asked)
	got := r.ends(made.ID, task.StatusCancelled)
	require.Equal(t, "Task cancelled: enough", text(got.ErrorMessage))
	r.noLeaks()
	got = r.task(made.ID)
	require.Equal(t, task.SalvageRef, got.Attempts[0].Salvage.Kind)
	show := r.run("git", "-C", repo, "show", got.Attempts[0].Salvage.Ref+":hello.txt")
	require.Equal(t, "hello\n", show.stdout, show.stderr)
}

// command is an execution_config for the command agent: a line of shell.
func command(line string, more ...string) json.RawMessage {
	return json.RawMessage(`{"command":["sh","-c",` + strconv.Quote(line) + `]` + strings.Join(more, "") + `}`)
}

func asCommand(in *apiclient.CreateTaskRequest) { in.Agent = task.AgentCommand }

// TestCommandAgent runs a plain program in continuous mode, as the command agent does by
// default: what it committed is validated, and only that completes the task.
func TestCommandAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).up()
	repo := r.repo()
	good := r.submit(repo, command("echo hi > hi.txt; git add -A; git commit -qm made; echo made it", `,"test_command":"test -s hi.txt"`), asCommand)
	untested := r.submit(repo, command("echo no > no.txt; git add -A; git commit -qm made", `,"test_command":"echo red; false"`), asCommand, retries(0))
	forgetful := r.submit(repo, command("echo lost > lost.txt"), asCommand, retries(0))
	failing := r.submit(repo, command("echo sorry; exit 3"), asCommand, retries(0))
	boastful := r.submit(repo, command(`echo '{"omoi":"event","event_type":"continuous.completed","event_data":{"validation_passed":true}}'`,
		`,"env":{"MAX_ITERATIONS":"1"}`), asCommand, retries(0))

	got := r.ends(good.ID, task.StatusCompleted)
	require.True(t, got.Continuous)
	require.Contains(t, string(got.Result), "made it")
	require.Equal(t, "hi\n", r.run("git", "-C", repo, "show", text(got.Branch)+":hi.txt").stdout)
	forgot := r.ends(forgetful.ID, task.StatusCompleted)
	require.Equal(t, "lost\n", r.run("git", "-C", repo, "show", text(forgot.Branch)+":lost.txt").stdout, "omoi commits what the agent left")
	for id, why := range map[string]string{untested.ID: "red", failing.ID: "exit code 3"} {
		got := r.ends(id, task.StatusFailed)
		require.Equal(t, task.ClassAgentError, got.FailureClass)
		require.Contains(t, text(got.ErrorMessage), why)
	}
	require.Equal(t, task.ClassStopped, r.ends(boastful.ID, task.StatusFailed).FailureClass, "its work was judged, whatever it says")
	r.noLeaks()
}

// TestSandboxWithoutNetwork runs a task whose sandbox reaches nothing but the API's socket.
func TestSandboxWithoutNetwork(t *testing.T) {
	t.Parallel()
	socket := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(socket), 0o755))
	r := newRig(t, map[string]string{"OMOI_SANDBOX_NETWORK": "none", "OMOI_API_SOCKET": filepath.Join(socket, "api.sock")}).up()
	made := r.submit(r.repo(), script(`{"bash":{"command":"ls /sys/class/net; cat /proc/net/dev"}}`, `{"complete":{"output":"{{last_output}}","success":true}}`))
	got := r.ends(made.ID, task.StatusCompleted)
	require.NotContains(t, string(got.Result), "eth")
	r.noLeaks()
}
