package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	claudetest "github.com/omoi-dev/omoi/internal/testkit/claude"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

const plantedModelKey = "sk-ant-api03-plantedForClaude0123456789"

// putClaude puts one version of Claude Code where sandboxes can reach it.
func putClaude(t *testing.T, version string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "omoi-claude-") //nolint:usetesting // t.TempDir is closed to the users of sandboxes
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	from, err := filepath.EvalSymlinks(claudetest.Install(t, version))
	require.NoError(t, err)
	to := filepath.Join(dir, "claude")
	if os.Link(from, to) == nil {
		return to
	}
	in, err := os.Open(from)
	require.NoError(t, err)
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	return to
}

// byClaude makes a task for Claude Code against a scripted model.
func (r *rig) byClaude(repo string, model *modeltest.Server, more map[string]any, edit ...func(*apiclient.CreateTaskRequest)) task.Task {
	r.t.Helper()
	env := map[string]string{"ANTHROPIC_BASE_URL": model.URL, "ANTHROPIC_API_KEY": plantedModelKey, "CLAUDE_CODE_MAX_RETRIES": "2"}
	execution := map[string]any{"env": env, "continuous": false}
	maps.Copy(execution, more)
	config, err := json.Marshal(execution)
	require.NoError(r.t, err)
	return r.submit(repo, config, append([]func(*apiclient.CreateTaskRequest){func(in *apiclient.CreateTaskRequest) {
		in.Agent, in.Description = task.AgentClaude, "Write binomial.py that prints C(50,25), run it, then make it print with thousands separators."
	}}, edit...)...)
}

func claudeBash(command string) modeltest.Tool {
	return modeltest.Tool{Name: "Bash", Input: map[string]any{"command": command}}
}

const binomialProgram = "import math\nprint(math.comb(50, 25))\n"

// binomialTurns are what a model does for the task: a file made and changed, the program run
// twice, committed and pushed; the answer comes from what the program printed.
func binomialTurns() []modeltest.Turn {
	const file = "/workspace/binomial.py"
	return []modeltest.Turn{
		{Text: "I write it.", Tools: []modeltest.Tool{{Name: "Write", Input: map[string]any{"file_path": file, "content": binomialProgram}}}, Expect: modeltest.Saying("C(50,25)")},
		{Tools: []modeltest.Tool{claudeBash("python3 binomial.py")}},
		{Tools: []modeltest.Tool{{Name: "Edit", Input: map[string]any{"file_path": file, "old_string": "print(math.comb(50, 25))", "new_string": "print(f\"{math.comb(50, 25):,}\")"}}}, Expect: modeltest.Saying(binomialPlain())},
		{Tools: []modeltest.Tool{claudeBash("python3 binomial.py")}},
		{Tools: []modeltest.Tool{claudeBash("git add -A && git commit -qm 'Compute C(50,25)' && git push -q origin HEAD && python3 binomial.py")}},
		{Text: "The result is {{last_tool_result}}."},
	}
}

func binomialPlain() string { return new(big.Int).Binomial(50, 25).String() }

// TestClaudeComputes runs the task from its acceptance to a sandbox that is verified gone, with
// each pinned version of the real program in a local sandbox.
func TestClaudeComputes(t *testing.T) {
	t.Parallel()
	for _, version := range claudetest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string]string{"OMOI_CLAUDE_BIN": putClaude(t, version)}).up()
			repo, model := r.repo(), modeltest.New(t, binomialTurns()...)
			made := r.byClaude(repo, model, nil)
			done := r.ends(made.ID, task.StatusCompleted)
			require.Equal(t, 1, done.AttemptCount)
			show := r.run("git", "-C", repo, "show", text(done.Branch)+":binomial.py")
			require.Contains(t, show.stdout, `print(f"{math.comb(50, 25):,}")`, show.stderr)
			require.NotEmpty(t, text(done.PullURL))
			require.Equal(t, 2, r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.file_edited'
				AND event_data ->> 'file_path' = 'binomial.py' AND (event_data ->> 'full_diff_available')::boolean`))
			require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.completed'
				AND event_data ->> 'final_output' = 'The result is 126,410,606,437,752.' AND (event_data ->> 'cost_usd')::float > 0`))
			require.Contains(t, r.omoi("transcript", made.ID).stdout, "126,410,606,437,752")
			r.noLeaks()
			shown := r.omoi("show", made.ID)
			require.NotContains(t, shown.stdout+shown.stderr, plantedModelKey)
		})
	}
}

// TestClaudeIsLimited parks a task at a provider's limit until that resets, and then goes on
// with the session of the attempt before, in a fresh sandbox.
func TestClaudeIsLimited(t *testing.T) {
	t.Parallel()
	version := claudetest.Versions()[0]
	r := newRig(t, map[string]string{"OMOI_CLAUDE_BIN": putClaude(t, version)}).up()
	var reset atomic.Int64 // from the refusal on: however long it took until then, it lies ahead
	model := modeltest.New(
		t, modeltest.Turn{Text: "The answer is 42.", Tools: []modeltest.Tool{claudeBash("echo kept > kept && git add kept && git commit -qm kept")}},
		modeltest.Turn{Status: http.StatusTooManyRequests, Now: func() http.Header {
			reset.Store(time.Now().Add(8 * time.Second).Unix())
			return http.Header{
				"Anthropic-Ratelimit-Unified-Status": {"rejected"}, "Anthropic-Ratelimit-Unified-Reset": {strconv.FormatInt(reset.Load(), 10)},
				"Anthropic-Ratelimit-Unified-Representative-Claim": {"five_hour"},
			}
		}},
		modeltest.Turn{Text: "It is still 42.", Expect: modeltest.Saying("The answer is 42.", "cut off")},
	)
	env := map[string]string{"ANTHROPIC_BASE_URL": model.URL, "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-planted"}
	made := r.byClaude(r.repo(), model, map[string]any{"env": env})
	r.until(made.ID, "is parked", func(t task.Task) bool { return t.Blocked == task.BlockedProviderLimit || t.Status.Final() })
	done := r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 2, done.AttemptCount)
	require.Equal(t, task.ClassProviderLimit, done.Attempts[0].FailureClass)
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.error'
		AND event_data ->> 'reset_at' = $1`, time.Unix(reset.Load(), 0).UTC().Format(time.RFC3339)))
	require.Equal(t, 1, r.count(fmt.Sprintf(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.completed'
		AND sandbox_id = '%s' AND event_data ->> 'final_output' = 'It is still 42.'`, done.Attempts[1].SandboxID)))
	r.noLeaks()
}

// TestClaudeIsSpokenTo interrupts a task by the command line and says how to go on; both
// messages are answered.
func TestClaudeIsSpokenTo(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"OMOI_CLAUDE_BIN": putClaude(t, claudetest.Versions()[1])}).up()
	model := modeltest.New(
		t, modeltest.Turn{Tools: []modeltest.Tool{claudeBash("touch begun; python3 -c 'import time; time.sleep(1000)'")}},
		modeltest.Turn{Text: "Then so.", Expect: modeltest.Saying("write nothing")},
	)
	made := r.byClaude(r.repo(), model, nil, func(in *apiclient.CreateTaskRequest) { in.Mode = task.ModeExploration })
	r.eventually("the command runs", func() bool { // before, an interrupt ends the program's own checks, and the turn continues
		found, _ := filepath.Glob(filepath.Join(r.dir, "sandboxes", "*", "ws", "begun"))
		return len(found) == 1
	})
	stopped := r.omoi("send", made.ID, "Stop", "--interrupt", "--wait", "--json")
	require.Zero(t, stopped.code, stopped.stderr)
	r.eventually("the interrupt is answered", func() bool {
		return r.count(`SELECT count(*) FROM messages WHERE state = 'answered'`) == 1
	})
	said := r.omoi("send", made.ID, "write nothing", "--json")
	require.Zero(t, said.code, said.stderr)
	r.ends(made.ID, task.StatusCompleted)
	require.Equal(t, 1, r.count(`SELECT count(*) FROM sandbox_events WHERE event_type = 'agent.interrupted'`))
	require.Equal(t, 2, r.count(`SELECT count(*) FROM messages WHERE state = 'answered'`))
	r.noLeaks()
}

// TestNoClaude ends in a clear state and text where a sandbox has no Claude Code.
func TestNoClaude(t *testing.T) {
	t.Parallel()
	if path, err := exec.LookPath("claude"); err == nil {
		t.Skipf("SKIPPED: this machine has a Claude Code, %s, which sandboxes may see", path)
	}
	r := newRig(t, map[string]string{"OMOI_CLAUDE_BIN": "/nonexistent/claude"}).up()
	repo, model := r.repo(), modeltest.New(t)
	missing := r.ends(r.byClaude(repo, model, nil).ID, task.StatusFailed)
	require.Equal(t, task.ClassInvalidInput, missing.FailureClass)
	require.Contains(t, text(missing.ErrorMessage), "the sandbox has no program claude")
	r.noLeaks()
}
