package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

const sayDone = `{"say":"All done. TASK_COMPLETE"}`

// TestOldWorkersThatPostByThemselves runs unchanged workers of the replaced system against an
// open server: every way in which they end, and what people and validators say meanwhile.
func TestOldWorkersThatPostByThemselves(t *testing.T) {
	t.Parallel()
	needPython(t)
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "20s"}).up()
	api, bus := r.api.BaseURL(), r.hears()

	talk := r.byOldWorker()
	talker := r.oldWorker(talk, 1, api, with(play(`{"say":"What else?"}`), "CONTINUOUS_MODE", "false"))
	round := r.byOldWorker()
	rounder := r.oldWorker(round, 1, api, play(`{"write":["a.txt","one\n"]},{"say":"Not yet."}`, `{"write":["a.txt","two\n"]},`+sayDone))
	limited := r.byOldWorker()
	r.oldWorker(limited, 1, api, with(play(`{"say":"Never done."}`), "MAX_ITERATIONS", "2"))
	strict := func(in *apiclient.CreateTaskRequest) { in.Execution = nil }
	empty, pushed := r.byOldWorker(strict, retries(0)), r.byOldWorker(strict)
	r.oldWorker(empty, 1, api, play(sayDone))
	r.oldWorker(pushed, 1, api, play(`{"shell":"`+r.commitTo(pushed)+`"},`+sayDone))
	idle := r.byOldWorker(single, retries(0))
	r.oldWorker(idle, 1, api, with(play(""), "CONTINUOUS_MODE", "false"))
	broken := r.byOldWorker(single, retries(1))
	r.oldWorker(broken, 1, api, with(play(`{"fail":"the model broke"}`), "CONTINUOUS_MODE", "false"))
	killed := r.byOldWorker(retries(0))
	victim := r.oldWorker(killed, 1, api, play(`{"await":"/never"}`))
	called := r.byOldWorker()
	next := r.byOldWorker(func(in *apiclient.CreateTaskRequest) {
		in.DependsOn = &apiclient.DependsOn{TaskIDs: []string{called.ID}}
	})
	caller := r.oldWorker(called, 1, api, with(play(`{"call":["task-complete",{"success":true,"result":{"sum":4}}]}`), "CONTINUOUS_MODE", "false"))

	r.running(killed.ID)
	victim.kill()
	r.talksWith(talk, talker)
	r.goesRound(round, rounder)
	r.isJudged()

	got := r.ends(limited.ID, task.StatusFailed)
	require.Equal(t, 1, got.AttemptCount, "what reached its limit is not tried again")
	require.Equal(t, "max_iterations_reached", got.Attempts[0].StopReason)

	got = r.ends(empty.ID, task.StatusFailed)
	require.Equal(t, task.ClassAgentError, got.FailureClass, "a passed validation without a commit is an empty run")
	require.Contains(t, text(got.ErrorMessage), "has no commit of this task")
	got = r.ends(idle.ID, task.StatusFailed)
	require.Equal(t, task.ClassAgentError, got.FailureClass, "so is a single run without a commit, a tool call and a text")
	require.Equal(t, task.ReasonNoCommit, got.EndReason.Code)
	require.NotNil(t, r.ends(pushed.ID, task.StatusCompleted).PullURL)

	second := r.oldWorker(broken, 2, api, with(play(sayDone), "CONTINUOUS_MODE", "false"))
	got = r.ends(broken.ID, task.StatusCompleted)
	require.Contains(t, got.Attempts[0].Reason, "the model broke")
	require.Contains(t, string(got.Result), "session-of-"+second.box)

	got = r.ends(called.ID, task.StatusCompleted)
	require.Contains(t, string(got.Result), `"sum"`)
	require.Contains(t, caller.said(), "called: task-complete 200")
	require.Contains(t, caller.said(), next.ID, "the answer names the task that waited for this one")

	got = r.ends(killed.ID, task.StatusFailed) // a stopped worker is noticed: it is silent
	require.Equal(t, task.ClassInfrastructure, got.FailureClass)
	r.eventually("all that happened was told", func() bool { return len(bus.lacks(oldNames()...)) == 0 })
	r.gapless()
}

// commitTo is a shell line that puts a commit onto a task's branch.
func (r *rig) commitTo(made task.Task) string {
	r.t.Helper()
	branch := text(r.until(made.ID, "has a branch", func(t task.Task) bool { return t.Branch != nil }).Branch)
	return "git clone -qb " + branch + " " + made.Repo + " w && cd w && git -c user.name=w -c user.email=w@x commit -q --allow-empty -m made && git push -q origin HEAD"
}

// oldNames are those of the bus that a run of old workers must bring up.
func oldNames() []string {
	return []string{
		"TICKET_CREATED", "TASK_CREATED", "TASK_ASSIGNED", "TASK_STARTED", "TASK_STATUS_CHANGED", "TASK_COMPLETED", "TASK_FAILED", "TASKS_UNBLOCKED",
		"TASK_VALIDATION_PASSED", "TASK_VALIDATION_FAILED", "sandbox.spawned", "SANDBOX_SPAWNED", "sandbox.terminated", "SANDBOX_MESSAGE_QUEUED",
		"SANDBOX_agent.started", "SANDBOX_agent.completed", "SANDBOX_agent.waiting", "SANDBOX_agent.message_injected", "SANDBOX_agent.interrupted",
		"SANDBOX_agent.shutdown", "SANDBOX_agent.error", "SANDBOX_agent.file_edited", "SANDBOX_continuous.started", "SANDBOX_continuous.completed",
		"SANDBOX_iteration.started", "SANDBOX_iteration.validation", "SANDBOX_iteration.completed", "SANDBOX_agent.heartbeat",
	}
}

// talksWith holds a waiting worker to the receipts of what it is told. An interrupt ends it for
// good, and the task stays as it is until a person says that it is done.
func (r *rig) talksWith(made task.Task, w *oldWorker) {
	r.t.Helper()
	w.has(1, "agent.waiting")
	w.tells("user_message", "Use tabs, please")
	w.has(2, "agent.waiting")
	require.Nil(r.t, w.data("agent.message_injected")["message_id"], "it never knew the id's name")
	w.tells("interrupt", "Stop")
	w.ended()
	w.has(2, "agent.interrupted")
	w.has(1, "agent.shutdown")
	require.Equal(r.t, task.StatusRunning, r.task(made.ID).Status, "in continuous mode agent.completed completes nothing")
	var answer apiclient.TaskCompleted
	require.Equal(r.t, http.StatusOK, post(r.api.BaseURL()+"/api/v1/sandboxes/"+w.box+"/task-complete", map[string]any{"task_id": made.ID}, &answer))
	require.Equal(r.t, "completed", answer.NewStatus)
	r.ends(made.ID, task.StatusCompleted)
}

// goesRound holds continuous mode to its events and its end.
func (r *rig) goesRound(made task.Task, w *oldWorker) {
	r.t.Helper()
	got := r.ends(made.ID, task.StatusCompleted)
	require.True(r.t, got.Continuous)
	require.Contains(r.t, string(got.Result), `"validation_passed"`)
	for kind, n := range map[string]int{
		"agent.started": 1, "continuous.started": 1, "iteration.started": 2, "iteration.completed": 1, "iteration.completion_signal": 1,
		"iteration.validation": 1, "continuous.completed": 1, "agent.completed": 2, "agent.file_edited": 2,
	} {
		w.has(n, kind)
	}
	require.Equal(r.t, true, w.data("continuous.completed")["validation_passed"])
}

// isJudged has validators say no and then yes, by their event and by the route for it.
func (r *rig) isJudged() {
	r.t.Helper()
	say := func(yes bool) (byEvent, byRoute map[string]string) {
		verdict := strconv.FormatBool(yes)
		byEvent = with(play(`{"verdict":`+verdict+`},{"say":"the sum is wrong"}`), "AGENT_TYPE", "validator", "CONTINUOUS_MODE", "false")
		return byEvent, with(play(`{"call":["validation-result",{"passed":`+verdict+`,"feedback":"the sum is wrong","recommendations":["add"]}]}`), "CONTINUOUS_MODE", "false")
	}
	events, routes := r.byOldWorker(), r.byOldWorker()
	for attempt, yes := range []bool{false, true} {
		byEvent, byRoute := say(yes)
		r.oldWorker(events, attempt+1, r.api.BaseURL(), byEvent)
		r.oldWorker(routes, attempt+1, r.api.BaseURL(), byRoute)
	}
	for _, made := range []task.Task{events, routes} {
		got := r.ends(made.ID, task.StatusCompleted)
		require.Equal(r.t, 2, got.AttemptCount)
		require.Zero(r.t, got.Retries, "a revision is no retry")
		var result struct {
			Passed    bool `json:"validation_passed"`
			Iteration int  `json:"validation_iteration"`
		}
		require.NoError(r.t, json.Unmarshal(got.Result, &result))
		require.True(r.t, result.Passed)
		require.Equal(r.t, 2, result.Iteration)
	}
}

// TestOldWorkerOverABadLine has the API answer late, be away for a while and refuse the first
// tries of the end. The worker sends most things once, so that what it says meanwhile is lost;
// what it was told is stored is, and its end arrives.
func TestOldWorkerOverABadLine(t *testing.T) {
	t.Parallel()
	needPython(t)
	r := newRig(t, map[string]string{"OMOI_TASK_HEARTBEAT_TIMEOUT": "60s"}).up()
	made, line := r.byOldWorker(single), r.inTheMiddle()
	line.does(func(kind string, _ http.ResponseWriter, pass func()) bool {
		if kind != "agent.started" {
			return false
		}
		pass()
		r.until(made.ID, "runs before the answer", func(t task.Task) bool { return t.Status == task.StatusRunning })
		return true
	})
	away, back := filepath.Join(r.dir, "away"), filepath.Join(r.dir, "back")
	w := r.oldWorker(made, 1, line.url, with(play(`{"say":"before"},{"await":"`+away+`"},{"say":"meanwhile"},{"await":"`+back+`"},`+sayDone), "CONTINUOUS_MODE", "false"))
	w.has(1, "agent.message")
	r.kill("api")
	require.NoError(t, os.WriteFile(away, nil, 0o600))
	r.eventually("the worker has lost an event", func() bool { return strings.Contains(w.said(), "event lost: agent.message") })
	r.startAPI()
	tries := 0
	line.does(func(kind string, w http.ResponseWriter, _ func()) bool {
		if kind != "agent.completed" || tries == 2 {
			return false
		}
		tries++
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	require.NoError(t, os.WriteFile(back, nil, 0o600))
	got := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 1, got.AttemptCount, "a restart of the API is no reason to end an attempt")
	require.Equal(t, 2, tries)
	w.has(2, "agent.message") // before and after; meanwhile is lost
	require.Contains(t, w.data("agent.message")["content"], "All done")
	r.gapless()
}

// TestOldWorkersThatOmoiStarts runs the same worker in local sandboxes of a server with
// logins: it knows nothing but its environment.
func TestOldWorkersThatOmoiStarts(t *testing.T) {
	t.Parallel()
	needPython(t)
	r := newRig(t, nil)
	r.env["OMOI_API_AUTH_DISABLED"], r.env["OMOI_API_KEY"] = "false", plantedAPIKey
	r.env["OMOI_TOKEN_KEY"] = "tests." + base64.RawStdEncoding.EncodeToString([]byte(plantedTokenKey))
	r.env["OMOI_LOG_LEVEL"] = "debug"
	r.api = apiclient.New(r.env["OMOI_API_URL"], plantedAPIKey)
	r.up()
	repo := r.repo()
	start := func(env map[string]string, edit ...func(*apiclient.CreateTaskRequest)) task.Task {
		return r.startOldWorker(repo, env, edit...)
	}
	const commit = `{"write":["a.txt","done\n"]},{"shell":"git add -A && git commit -qm made && git push -q origin HEAD"}`
	good := start(play(`{"environment":true},` + commit + `,` + sayDone))
	looking := start(play(`{"environment":true},{"say":"I have looked."}`), func(in *apiclient.CreateTaskRequest) { in.Mode = "exploration" })
	dirty := start(with(play(`{"write":["b.txt","left\n"]},`+sayDone), "MAX_ITERATIONS", "1"), retries(0))
	dead := start(play(`{"shell":"kill -9 $PPID"}`), retries(0))
	idle := start(play(""), retries(0), func(in *apiclient.CreateTaskRequest) {
		in.Execution = json.RawMessage(strings.Replace(string(in.Execution), "{", `{"continuous":false,`, 1))
	})

	got := r.ends(good.ID, task.StatusCompleted)
	require.Equal(t, "done\n", r.run("git", "-C", repo, "show", text(got.Branch)+":a.txt").stdout)
	require.Contains(t, string(got.Result), `"validation_passed"`)
	r.hasContract(got, "always", "task of a user", "continuous mode", "repository", "login", "calls can be checked")
	r.hasContract(r.ends(looking.ID, task.StatusCompleted), "always", "task of a user", "repository", "login", "calls can be checked")
	require.Equal(t, "max_iterations_reached", r.ends(dirty.ID, task.StatusFailed).Attempts[0].StopReason)
	require.Contains(t, text(r.ends(dead.ID, task.StatusFailed).ErrorMessage), "exit code 137")
	got = r.ends(idle.ID, task.StatusFailed)
	require.False(t, got.Continuous)
	require.Equal(t, []any{task.ClassAgentError, task.ReasonNoCommit}, []any{got.FailureClass, got.EndReason.Code}, "an empty run")
	r.noLeaks()
	r.gapless()
	for _, secret := range r.tokens() {
		logs, err := filepath.Glob(filepath.Join(r.dir, "*.log"))
		require.NoError(t, err)
		for _, file := range logs {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NotContains(t, string(raw), secret, "a token in "+filepath.Base(file))
		}
	}
}

// hasContract holds the environment that a task's worker saw to the table of the document:
// each variable that is due is there, and none that the table does not name.
func (r *rig) hasContract(made task.Task, due ...string) {
	r.t.Helper()
	w := &oldWorker{r: r, box: made.Attempts[0].SandboxID}
	var raw []byte
	require.NoError(r.t, r.pool.QueryRow(context.Background(), `SELECT event_data FROM sandbox_events
		WHERE sandbox_id = $1 AND event_type = 'agent.message' ORDER BY sequence LIMIT 1`, w.box).Scan(&raw))
	var said struct {
		Content string `json:"content"`
	}
	require.NoError(r.t, json.Unmarshal(raw, &said))
	var saw map[string]string
	require.NoError(r.t, json.Unmarshal([]byte(said.Content), &saw))
	documented := contractTable(r.t)
	for name, when := range documented {
		if _, there := saw[name]; when != "if set" {
			require.Equal(r.t, slices.Contains(due, when), there, "%s, which is due with: %s", name, when)
		}
	}
	for name := range saw {
		require.True(r.t, documented[name] != "" || name == "PLAY" || name == "MAX_ITERATIONS" || slices.Contains(shellsOwn(), name),
			"%s is not in the document's table", name)
	}
	for name, want := range map[string]string{
		"TASK_ID": made.ID, "SANDBOX_ID": w.box, "AGENT_ID": w.box, "PHASE_ID": made.PhaseID, "EXECUTION_MODE": made.Mode, "IS_SANDBOX": "1",
		"CONTINUOUS_MODE": strconv.FormatBool(made.Continuous), "TICKET_ID": made.TicketID, "BRANCH_NAME": text(made.Branch),
		"CALLBACK_URL": r.env["OMOI_API_CALLBACK_URL"] + "/t/[redacted]", "OMOIOS_API_URL": r.env["OMOI_API_CALLBACK_URL"] + "/t/[redacted]",
	} {
		require.Equal(r.t, want, saw[name], name)
	}
	require.Contains(r.t, saw["OMOIOS_API_KEY"], "[redacted]", "the intake hides the sandbox's own token")
	data, err := base64.StdEncoding.DecodeString(saw["TASK_DATA_BASE64"])
	require.NoError(r.t, err)
	require.Contains(r.t, string(data), `"task_description":"a task of the tests"`)
}

// shellsOwn are variables that a shell or Python adds, and that of the machine's programs.
func shellsOwn() []string { return []string{"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"} }

// contractTable reads the table of docs/CUSTOM-AGENTS.md: which variable is given when.
func contractTable(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "CUSTOM-AGENTS.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(raw), "| variable | value | given |\n|---|---|---|\n")
	require.True(t, found, "the table of variables")
	given := map[string]string{}
	for line := range strings.Lines(rest) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			break
		}
		for name := range strings.SplitSeq(strings.ReplaceAll(cells[1], "`", ""), ",") {
			given[strings.TrimSpace(name)] = strings.TrimSpace(cells[3])
		}
	}
	return given
}
