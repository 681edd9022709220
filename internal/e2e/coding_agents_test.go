package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/agent/acp"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/testkit/codingagents"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

// realAgent is the real program of a coding agent in an installation of omoi.
type realAgent struct {
	*rig

	dialect acp.Dialect
}

// sees compares a result with the record.
func (a *realAgent) sees(test, saw string, took time.Duration) {
	a.t.Helper()
	codingagents.Note(a.t, a.dialect.Name, test, saw, took)
}

// TestCodingAgents runs tasks with the real programs and a scripted model, and compares the results with the record.
func TestCodingAgents(t *testing.T) {
	t.Parallel()
	names := strings.Fields(os.Getenv(codingagents.Asked))
	if len(names) == 0 {
		t.Skip("SKIPPED: the real programs of coding agents are run by make agents-test, which may ask npm for them")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, ok := acp.Of(name)
			require.True(t, ok, "%s is not one of %s", name, acp.Names())
			a := &realAgent{dialect: d}
			bin := programs(t, a)
			a.rig = newRig(t, map[string]string{"PATH": bin + ":" + os.Getenv("PATH"), "OMOI_SANDBOX_ISOLATION": "none"}).up()
			a.longer = 10 * time.Minute // some programs need a minute to start on a busy machine
			a.eventually("the worker reports the program", func() bool {
				hosts, err := a.api.Hosts(t.Context())
				return err == nil && len(hosts) == 1 && slices.Contains(hosts[0].Agents, name)
			})
			// One after the other: most programs let the model go on while a command takes longer than half a minute.
			a.computes()
			a.isCancelled()
			a.isKilled()
			a.isChecked()
			a.noLeaks()
		})
	}
}

// submitted returns a task for the agent with a model that plays turns, and a folder that test and sandbox share.
func (a *realAgent) submitted(repo string, model *modeltest.Server, edit ...func(*apiclient.CreateTaskRequest)) task.Task {
	a.t.Helper()
	config, err := json.Marshal(map[string]any{"env": a.dialect.VarsAt(model.URL, "scripted-model", "planted-model-key-0123456789"), "continuous": false})
	require.NoError(a.t, err)
	return a.submit(repo, config, append([]func(*apiclient.CreateTaskRequest){func(in *apiclient.CreateTaskRequest) {
		in.Agent, in.Description = a.dialect.Name, "Write binomial.py that prints C(50,25), and run it."
	}}, edit...)...)
}

// delivered is the condition of the receipt of a message.
const delivered = `event_type = 'agent.system_message' AND event_data ->> 'subtype' = 'message'`

// stored counts the events that fit a condition.
func (a *realAgent) stored(condition string, args ...any) int {
	a.t.Helper()
	return a.count(`SELECT count(*) FROM sandbox_events WHERE `+condition, args...)
}

// shared returns a folder that sandboxes may write.
func (a *realAgent) shared() string {
	dir, err := os.MkdirTemp(a.dir, "shared-")
	require.NoError(a.t, err)
	require.NoError(a.t, os.Chmod(dir, 0o777))
	return dir
}

// pid waits for the number that a tool of a task writes.
func (a *realAgent) pid(id, file string) (pid int) {
	a.t.Helper()
	got := a.until(id, file+" is written", func(t task.Task) bool {
		raw, _ := os.ReadFile(file)
		n, err := fmt.Sscanln(string(raw), &pid)
		return n == 1 && err == nil || t.Status.Final()
	})
	require.False(a.t, got.Status.Final(), "%s %s: %s", got.Status, stories(got.Attempts), text(got.ErrorMessage))
	return pid
}

// computes runs a task that gets a message while a tool runs.
func (a *realAgent) computes() {
	const told = "Keep the program short."
	began, repo, dir := time.Now(), a.repo(), a.shared()
	later := a.dialect.Steer == acp.SteerAfter
	hears := func(now bool) func(modeltest.Request) error {
		return func(r modeltest.Request) error {
			if r.Says(told) != now {
				return fmt.Errorf("the request says the message: %t", !now)
			}
			return nil
		}
	}
	asked, answer := make(chan struct{}), make(chan struct{}) // about the request that says the message
	held := func(turn modeltest.Turn) modeltest.Turn {
		turn.Begun, turn.Hold = asked, answer
		return turn
	}
	model := modeltest.New(
		a.t, modeltest.Turn{Text: "I write it.", Tools: []modeltest.Tool{modeltest.Shell("printf 'import math\\nprint(math.comb(50, 25))\\n' > binomial.py")}, Expect: modeltest.Saying("C(50,25)")},
		modeltest.Turn{Tools: []modeltest.Tool{modeltest.Shell("echo 1 > " + dir + "/begun; until [ -e " + dir + "/go ]; do sleep 0.1; done; python3 binomial.py")}},
	)
	commits := modeltest.Turn{Tools: []modeltest.Tool{modeltest.Shell("git add -A && git commit -qm 'Compute C(50,25)' && git push -q origin HEAD && python3 binomial.py")}, Expect: modeltest.Saying(binomialPlain())}
	result := modeltest.Turn{Text: "The result is {{last_tool_result}}."}
	if later {
		again := modeltest.Turn{Text: "The result is still {{last_tool_result}}.", Expect: hears(true)}
		result.Expect = hears(false)
		model.Add(commits, result, held(again))
	} else {
		commits.Expect, result.Expect = modeltest.Saying(binomialPlain(), told), hears(true)
		model.Add(held(commits), result)
	}
	made := a.submitted(repo, model)
	a.pid(made.ID, dir+"/begun")
	a.eventually("the call is reported, which begins the message of the model", func() bool {
		return a.stored(`event_type = 'agent.tool_use'`) == 2
	})
	sent := a.omoi("send", made.ID, told, "--json")
	require.Zero(a.t, sent.code, sent.stderr)
	a.eventually("the message reaches the agent", func() bool {
		return a.stored(`event_type = 'agent.message_injected'`) == 1
	})
	require.Zero(a.t, a.stored(delivered), "the model has not read it yet")
	require.NoError(a.t, os.WriteFile(dir+"/go", nil, 0o600))
	a.eventually("the model gets the message", func() bool {
		select {
		case <-asked:
			return true
		default:
			return false
		}
	})
	require.Zero(a.t, a.stored(delivered), "the model has not begun its next message")
	close(answer)
	a.computed(a.ends(made.ID, task.StatusCompleted), repo, len(model.Requests()), time.Since(began))
}

// computed holds a completed task against what its agent has to show.
func (a *realAgent) computed(done task.Task, repo string, requests int, took time.Duration) {
	require.Equal(a.t, 1, done.AttemptCount)
	require.Contains(a.t, string(done.Result), binomialPlain())
	show := a.run("git", "-C", repo, "show", text(done.Branch)+":binomial.py")
	require.Contains(a.t, show.stdout, "math.comb(50, 25)", show.stderr)
	require.NotEmpty(a.t, text(done.PullURL))
	require.NotZero(a.t, a.stored(`event_type = 'agent.file_edited' AND event_data ->> 'file_path' = 'binomial.py'`))
	a.sees("basic", "C(50,25) = "+binomialPlain(), took)
	how := map[bool]string{true: "as a prompt", false: "in the turn"}[a.dialect.Steer == acp.SteerAfter]
	require.Equal(a.t, 1, a.stored(delivered+` AND event_data -> 'metadata' ->> 'delivered' = $1`, how))
	a.sees("message", how, took)
	tokens := a.count(`SELECT (event_data ->> 'input_tokens')::int FROM sandbox_events WHERE event_type = 'agent.completed'`)
	require.NotZero(a.t, tokens)
	a.sees("tokens", cmp.Or(map[int]string{requests * 1000: "all", 1000: "last request"}[tokens], fmt.Sprintf("%d of %d", tokens, requests*1000)), took)
}

// isCancelled cancels a task while a tool runs.
func (a *realAgent) isCancelled() {
	began, dir := time.Now(), a.shared()
	made := a.submitted(a.repo(), modeltest.New(a.t, modeltest.Turn{Tools: []modeltest.Tool{modeltest.Shell("echo $$ > " + dir + "/pid; python3 -c 'import time; time.sleep(1000)'; true")}}))
	tool := a.pid(made.ID, dir+"/pid")
	program := programOf(a.t, tool)
	cancelled := a.omoi("cancel", made.ID)
	require.Zero(a.t, cancelled.code, cancelled.stderr)
	a.ends(made.ID, task.StatusCancelled)
	a.eventually("tool and program are gone", func() bool { return isGone(tool) && isGone(program) })
	a.sees("cancel in a command", "no process left", time.Since(began))
}

// isKilled kills the program of a task while a tool runs. The next attempt, in another sandbox, knows what a command has printed, which
// no summary holds.
func (a *realAgent) isKilled() {
	began, dir, again := time.Now(), a.shared(), false
	made := a.submitted(a.repo(), modeltest.New(
		a.t, modeltest.Turn{Text: "The answer is 42.", Tools: []modeltest.Tool{modeltest.Shell("echo one > one; git add one; git commit -qm one; printf 'printed-%s' 42")}},
		modeltest.Turn{Tools: []modeltest.Tool{modeltest.Shell("echo $$ > " + dir + "/pid; python3 -c 'import time; time.sleep(1000)'; true")}},
		modeltest.Turn{Text: "It is still 42.", Expect: func(r modeltest.Request) error {
			again = r.Says("printed-42")
			return modeltest.Saying("The answer is 42.")(r)
		}},
	))
	tool := a.pid(made.ID, dir+"/pid")
	require.NoError(a.t, syscall.Kill(programOf(a.t, tool), syscall.SIGKILL))
	done := a.ends(made.ID, task.StatusCompleted)
	require.Equal(a.t, 2, done.AttemptCount)
	require.Equal(a.t, task.ClassInfrastructure, done.Attempts[0].FailureClass)
	require.True(a.t, isGone(tool))
	lost := a.stored(`event_type = 'agent.resume_failed'`)
	require.Equal(a.t, a.dialect.Session == nil, lost == 1, a.resumeFailed())
	require.Equal(a.t, a.dialect.Session != nil, again, "the model has the earlier turns")
	a.sees("next attempt", map[bool]string{true: "new session with a summary", false: "same session"}[lost == 1], time.Since(began))
}

// resumeFailed returns why an agent could not continue a session; empty: none reported that.
func (a *realAgent) resumeFailed() (why string) {
	_ = a.pool.QueryRow(context.Background(), `SELECT event_data ->> 'error' FROM sandbox_events WHERE event_type = 'agent.resume_failed'`).Scan(&why)
	return why
}
