package e2e_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// trouble is a switch that is on when a person runs a task, and what the person sees of it.
type trouble struct {
	name    string
	fault   daytonatest.Fault
	late    bool              // the switch is thrown when the agent runs, at its sandbox
	steps   []string          // of the script; nil: work that is done at once
	command string            // of the command agent, in place of steps
	meets   func(w *onlooker) // while the switch is on; nil: it is waited for until it has struck
	exit    int               // of `omoi run --wait`
	show    []string          // what `omoi show` says at the end
	receipt []string          // and `omoi receipt`
	retried bool              // another attempt follows; else none does, whatever trouble a provider makes
}

// onlooker is a person who follows one task with the command line.
type onlooker struct {
	*rig

	cloud *daytonatest.Server
	fault string   // id of the switch
	asked []string // command line that made the task; the same again follows it
	id    string   // of the task
}

const (
	madeWord    = "\n  created "
	adoptedWord = "\n  adopted "
	seenGone    = "verified deleted"

	waitsForMessage = `{"wait_message":{"timeout_s":600}}`
)

func creating(s daytonatest.Switch) daytonatest.Fault {
	return daytonatest.Fault{Switch: s, Method: http.MethodPost, Path: "/api/sandbox"}
}

func times(f daytonatest.Fault, n int) daytonatest.Fault {
	f.Times = n
	return f
}

func answering(status int, message string) daytonatest.Fault {
	f := creating(daytonatest.Answer)
	f.Status, f.Message = status, message
	return f
}

// troubles are all switches but one: what is cut off from the network has a test of its own.
func troubles() []trouble {
	tooMany := creating(daytonatest.TooMany)
	tooMany.RetryAfter = 3600
	return []trouble{
		{name: "slow create", fault: daytonatest.Fault{Switch: daytonatest.SlowCreate, Times: 1, Delay: 2 * time.Second}, receipt: []string{madeWord}},
		{
			name: "create in error", fault: daytonatest.Fault{Switch: daytonatest.CreateError, Message: "the runner is out of breath"},
			meets: waitsFor("Daytona did not create the sandbox: Daytona refused to create sandbox", "the runner is out of breath"), receipt: []string{madeWord},
		},
		{name: "create that appears late", fault: daytonatest.Fault{Switch: daytonatest.LateCreate, Times: 1, Delay: 300 * time.Millisecond}, receipt: []string{madeWord}},
		{name: "lost answer", fault: times(creating(daytonatest.LostAnswer), 1), receipt: []string{madeWord, adoptedWord}},
		{
			name: "answer that there is no quota", fault: answering(http.StatusBadRequest, "Total CPU quota exceeded"),
			meets: waitsFor("Total CPU quota exceeded"), receipt: []string{madeWord},
		},
		{
			name: "answer that the key may not", fault: times(answering(http.StatusForbidden, "Organization is suspended"), 1),
			exit: 4, show: []string{"Organization is suspended", "omoi retry"}, receipt: []string{"never created"},
		},
		{name: "502 without a body", fault: times(creating(daytonatest.BadGateway), 2), receipt: []string{madeWord}},
		{name: "429", fault: tooMany, meets: (*onlooker).isTriedAtOnce, receipt: []string{madeWord}, retried: true},
		{
			name: "dropped stream", fault: daytonatest.Fault{Switch: daytonatest.DroppedStream, After: 1},
			command: "seq 1 2000; until [ -e $HOME/enough ]; do sleep 0.2; done", meets: (*onlooker).logIsWhole,
		},
		{name: "daemon death at the start", fault: daytonatest.Fault{Switch: daytonatest.DaemonDeath, Times: 1}, receipt: []string{madeWord}},
		{
			name: "daemon death at work", fault: daytonatest.Fault{Switch: daytonatest.DaemonDeath, Times: 1}, late: true,
			steps: []string{waitsForMessage, stepComplete}, meets: (*onlooker).isSentOn, show: []string{"failed infrastructure"}, retried: true,
		},
		{name: "inactive snapshot", fault: daytonatest.Fault{Switch: daytonatest.InactiveSnapshot}, meets: madeOf("snapshot ai-agent-dev-light")},
		{name: "missing snapshot", fault: daytonatest.Fault{Switch: daytonatest.MissingSnapshot}, meets: madeOf("image instead of snapshot ai-agent-dev-light")},
		{name: "stuck delete", fault: daytonatest.Fault{Switch: daytonatest.StuckDelete}, meets: (*onlooker).leavesSomething},
	}
}

// Every switch of the emulator, with what a person is told of it and how the task ends. What
// makes sandboxes takes turns, so that a switch strikes the task that it is meant for.
func TestWhatAPersonSeesOfEachFault(t *testing.T) { //nolint:tparallel // its parts are, and share the rig
	t.Parallel()
	covered := []daytonatest.Switch{daytonatest.EgressBlocked}
	for _, one := range troubles() {
		covered = append(covered, one.fault.Switch)
	}
	require.Subset(t, covered, daytonatest.Switches(), "a switch has no test")
	cloud, settings := startCloud(t)
	settings["OMOI_TASK_HEARTBEAT_TIMEOUT"] = "10s"
	r := newRig(t, settings).up()
	repo := r.repo()
	var turn sync.Mutex
	t.Run("switches", func(t *testing.T) {
		for _, one := range troubles() {
			t.Run(one.name, func(t *testing.T) {
				t.Parallel()
				one.play(t, r, cloud, repo, &turn)
			})
		}
	})
	r.noLeaks()
	r.gapless()
	require.Empty(t, cloud.Boxes())
}

// play has a person run a task into the trouble and follow it to its end.
func (c trouble) play(t *testing.T, r *rig, cloud *daytonatest.Server, repo string, turn *sync.Mutex) {
	t.Helper()
	w := &onlooker{rig: r.in(t), cloud: cloud}
	func() {
		turn.Lock()
		defer turn.Unlock()
		if !c.late {
			w.fault = cloud.Faults().Set(c.fault)
		}
		w.asks(c, repo)
		if c.late {
			c.fault.Sandbox = task.SandboxName(text(w.running(w.id).SandboxID))
			w.fault = cloud.Faults().Set(c.fault)
		}
		defer cloud.Faults().Clear(w.fault)
		if c.meets != nil {
			c.meets(w)
		} else {
			w.eventually("the switch has struck, and the agent reports", func() bool { return !w.on() && w.past() })
		}
	}()
	end := w.omoi(append(w.asked, "--wait")...)
	require.Equal(t, c.exit, end.code, end.stdout+end.stderr)
	w.settled(c)
}

// in is the rig as a part of its test uses it.
func (r *rig) in(t *testing.T) *rig {
	t.Helper()
	return &rig{t: t, dir: r.dir, env: r.env, stack: r.stack, api: r.api, temporal: r.temporal, pool: r.pool, programs: r.programs, as: r.as}
}

// asks runs a task as a person does.
func (w *onlooker) asks(c trouble, repo string) {
	w.t.Helper()
	w.asked = append([]string{"run", "meet the trouble", "--repo", repo, "--sandbox", "daytona", "--idempotency-key", task.NewID()}, w.work(c)...)
	res := w.omoi(append(w.asked, "--json")...)
	require.Zero(w.t, res.code, res.stderr)
	var made apiclient.Task
	require.NoError(w.t, json.Unmarshal([]byte(res.stdout), &made))
	w.id = made.ID
}

// work is the part of the command line that says what there is to do.
func (w *onlooker) work(c trouble) []string {
	name := task.NewID() + ".json"
	if c.command != "" {
		return []string{"--agent", "command", "--execution-config", w.file(name, string(command(c.command, `,"continuous":false,"env":{"REQUIRE_CODE_PUSHED":"false"}`)))}
	}
	if c.steps == nil {
		c.steps = []string{stepWrite, stepCommit, stepComplete}
	}
	return []string{"--script", w.file(name, `{"steps":[`+strings.Join(c.steps, ",")+`]}`)}
}

// on reports whether the switch is still on.
func (w *onlooker) on() bool {
	return slices.ContainsFunc(w.cloud.Faults().On(), func(f daytonatest.Fault) bool { return f.ID == w.fault })
}

// past reports whether the task has begun its work, or is over.
func (w *onlooker) past() bool {
	got := w.task(w.id)
	return got.Status != task.StatusPending && got.Status != task.StatusAssigned
}

// shows waits until `omoi show` says all of it.
func (w *onlooker) shows(texts ...string) {
	w.t.Helper()
	w.eventually("omoi show says "+strings.Join(texts, ", "), func() bool {
		said := w.omoi("show", w.id).stdout
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(said, text) })
	})
}

// settled looks at the end of it: nothing is left, and everything is told.
func (w *onlooker) settled(c trouble) {
	w.t.Helper()
	w.shows(c.show...)
	var receipt result
	w.eventually("the receipt says that all is gone", func() bool {
		receipt = w.omoi("receipt", w.id)
		return receipt.code == 0 && strings.Contains(receipt.stdout, seenGone)
	})
	for _, text := range c.receipt {
		require.Contains(w.t, receipt.stdout, text)
	}
	require.Equal(w.t, c.retried, w.task(w.id).AttemptCount > 1)
}

// waitsFor waits until show gives the reason for waiting, and lets the task go on.
func waitsFor(texts ...string) func(w *onlooker) {
	return func(w *onlooker) {
		w.t.Helper()
		w.shows(append(texts, "the next try is within ")...)
		w.cloud.Faults().Clear(w.fault)
		w.eventually("the task goes on", w.past)
	}
}

// isTriedAtOnce sees a task that waits for a limit to reset, and knows that it has.
func (w *onlooker) isTriedAtOnce() {
	w.t.Helper()
	w.shows("pending (provider limit)", "Daytona's rate limit", "omoi retry")
	w.cloud.Faults().Clear(w.fault)
	res := w.omoi("retry", w.id)
	require.Zero(w.t, res.code, res.stderr)
	w.eventually("the task goes on", w.past)
}

// madeOf waits until show says what the sandbox is made of.
func madeOf(part string) func(w *onlooker) {
	return func(w *onlooker) {
		w.t.Helper()
		w.shows(part)
	}
}

// logIsWhole reads the sandbox's own log while calls into the sandbox fail, and lets its program
// end then. Streams may break off as they like: a log is read by none.
func (w *onlooker) logIsWhole() {
	w.t.Helper()
	w.fault = w.cloud.Faults().Set(daytonatest.Fault{
		Switch: daytonatest.BadGateway, Path: "/toolbox/*/process/execute", Sandbox: task.SandboxName(text(w.running(w.id).SandboxID)), Times: 3,
	})
	w.eventually("calls failed, and omoi logs --raw shows all", func() bool {
		said := w.omoi("logs", "--raw", w.id)
		whole := said.code == 0 && strings.Contains(said.stdout, "1\n2\n3\n") && strings.Contains(said.stdout, "\n1999\n2000\n")
		return whole && !w.on()
	})
	enough := w.omoi("sandbox", "exec", text(w.task(w.id).SandboxID), "--", "sh", "-c", "touch $HOME/enough")
	require.Zero(w.t, enough.code, enough.stderr)
}

// isSentOn sends the agent of each further attempt on as soon as it waits.
func (w *onlooker) isSentOn() {
	w.t.Helper()
	w.until(w.id, "the first attempt ends", func(t task.Task) bool { return t.AttemptCount > 1 })
	w.eventually("an agent goes on", func() bool {
		if strings.Contains(w.omoi("show", w.id).stdout, "(waiting for message)") {
			w.omoi("send", w.id, "go on")
		}
		return w.task(w.id).Status.Final()
	})
}

// leavesSomething sees a receipt that says no, for as long as the sandbox is not gone.
func (w *onlooker) leavesSomething() {
	w.t.Helper()
	w.ends(w.id, task.StatusCompleted)
	receipt := w.omoi("receipt", w.id)
	require.Equal(w.t, 1, receipt.code, receipt.stdout)
	require.Contains(w.t, receipt.stdout, "the deletion of 1 sandbox is not verified")
}
