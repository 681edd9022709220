package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestParse(t *testing.T) {
	t.Parallel()
	l := parse([]byte(`{"duration":1,"new_key":{"a":[]},"is_error":true,"subtype":"success","type":"result","total_cost_usd":"free","num_turns":3}`))
	require.Equal(t, "result", l.Type)
	require.True(t, l.IsError)
	require.Equal(t, 3, l.Turns)
	require.Zero(t, l.Cost, "of another form than known")
	for _, raw := range []string{"", "null", "[1]", "no json", `{"type":`} {
		require.Nil(t, parse([]byte(raw)), raw)
	}
	require.Equal(t, "a\n[image]", plain(json.RawMessage(`[{"type":"text","text":"a"},{"type":"image","source":{}},7]`)))
	require.Equal(t, "b", plain(json.RawMessage(`"b"`)))
}

// TestSettle_CountsOnce checks that sums which grow from result to result count once, whether a resumed session
// continues its sums or starts at zero.
func TestSettle_CountsOnce(t *testing.T) {
	t.Parallel()
	use := func(in int64, cost float64) map[string]modelUse {
		return map[string]modelUse{"claude-opus-5": {Input: in, Cost: cost}}
	}
	var s spent
	first := &account{}
	s.settle(first, outcome{Cost: 1, Models: use(100, 1)})
	s.settle(first, outcome{Cost: 3, Models: use(300, 3)})
	require.Equal(t, int64(300), s.all().Input)
	anew := &account{}
	s.settle(anew, outcome{Cost: 1, Models: use(100, 1)})
	require.InDelta(t, 4, s.Cost, 1e-9)
	on := &account{}
	s.settle(on, outcome{Cost: 6, Models: use(600, 6), Since: use(200, 2)})
	s.settle(on, outcome{Cost: 7, Models: use(700, 7), Since: use(100, 1)})
	require.InDelta(t, 7, s.Cost, 1e-9)
	require.Equal(t, int64(700), s.all().Input)
}

// TestSettle_ResumedWithoutUse resumes a session whose only result repeats the old sums.
func TestSettle_ResumedWithoutUse(t *testing.T) {
	t.Parallel()
	s := spent{Settled: tokens{Input: 100}, Cost: 1}
	for range 3 {
		refused := parse([]byte(`{"type":"result","is_error":true,"total_cost_usd":1,"modelUsage":{"claude-opus-5":{"inputTokens":100,"costUSD":1}},"model_usage_since_last_result":{}}`))
		s.settle(&account{}, refused.outcome)
	}
	require.InDelta(t, 1, s.Cost, 1e-9)
	require.Equal(t, int64(100), s.all().Input)
}

func TestResetOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 22, 30, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"You've hit your session limit · resets 11:40pm (UTC)":  "2026-03-01T23:40:00Z",
		"You've hit your weekly limit · resets 6am (UTC)":       "2026-03-02T06:00:00Z",
		"You've hit your limit · resets at 12:05am (UTC)":       "2026-03-02T00:05:00Z",
		"Claude AI usage limit reached|1772400000":              "2026-03-01T21:20:00Z",
		"API Error: Request rejected (429)":                     "0001-01-01T00:00:00Z",
		"You've hit your limit · resets 6am (Nowhere/Nonsense)": "0001-01-01T00:00:00Z",
	} {
		require.Equal(t, want, resetOf(limitInfo{}, text, now).Format(time.RFC3339), text)
	}
	require.Equal(t, int64(1772500000), resetOf(limitInfo{Status: "rejected", ResetsAt: 1772500000}, "", now).Unix())
	require.True(t, resetOf(limitInfo{Status: "allowed", ResetsAt: 1772500000}, "API Error: Repeated 529 Overloaded errors.", now).IsZero())
}

func TestClassOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status      int
		cause, text string
		want        task.FailureClass
	}{
		{429, "", "", task.ClassProviderLimit},
		{0, "rate_limit", "", task.ClassProviderLimit},
		{0, "", "API Error: Repeated 529 Overloaded errors.", task.ClassProviderLimit},
		{401, "", "", task.ClassCredentials},
		{0, "", "Not logged in · Please run /login", task.ClassCredentials},
		{502, "", "", task.ClassInfrastructure},
		{0, "unknown", "API Error: Connection error.", task.ClassInfrastructure},
		{400, "invalid_request", "prompt is too long", task.ClassAgentError},
		{0, "", "[ede_diagnostic]", task.ClassAgentError},
	} {
		require.Equal(t, c.want, classOf(c.status, c.cause, c.text), "%+v", c)
	}
}

func TestFailure_DeadProgram(t *testing.T) {
	t.Parallel()
	ok := &line{Type: "result", Subtype: "success"}
	for name, c := range map[string]struct {
		end  turn
		want task.FailureClass
	}{
		"out of memory":         {turn{ended: true, exit: proc.Result{Outcome: proc.OutOfMemory, ExitCode: 137}}, task.ClassResources},
		"a limit":               {turn{ended: true, exit: proc.Result{Outcome: proc.Limit, ExitCode: 153}}, task.ClassResources},
		"killed":                {turn{ended: true, exit: proc.Result{Outcome: proc.Killed, ExitCode: 137}}, task.ClassInfrastructure},
		"no result":             {turn{ended: true, exit: proc.Result{Outcome: proc.Exited, ExitCode: 0}}, task.ClassAgentError},
		"a result and a crash":  {turn{result: ok, ended: true, exit: proc.Result{Outcome: proc.Exited, ExitCode: 1}}, task.ClassAgentError},
		"a result, ended by us": {turn{result: ok, ended: true, exit: proc.Result{Outcome: proc.Stopped, ExitCode: 143}}, task.ClassNone},
		"a result":              {turn{result: ok}, task.ClassNone},
	} {
		f := (&talk{end: &c.end, place: &place{}, rec: &recorder{place: &place{}}}).Failure()
		if c.want == task.ClassNone {
			require.Nil(t, f, name)
			continue
		}
		require.Equal(t, c.want, f.Class, name)
		require.NotEmpty(t, f.Text)
	}
}

func TestVersionOf(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"2.1.197 (Claude Code)\n": "", "2.9.0-beta.1 (Claude Code)": "", "1.0.128 (Claude Code)": "does not support",
		"3.0.0": "does not support", "hello": "not a version of Claude Code", "": "not a version",
	} {
		_, err := VersionOf("/bin/claude", proc.Result{Outcome: proc.Exited, Output: said})
		if want == "" {
			require.NoError(t, err, said)
			continue
		}
		require.ErrorContains(t, err, want)
	}
	_, err := VersionOf("/bin/claude", proc.Result{Outcome: proc.Exited, ExitCode: 126, Output: "cannot execute"})
	require.ErrorContains(t, err, "cannot execute")
}

func TestLocate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(path string) string {
		path = filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, nil, 0o700))
		return path
	}
	vars := variables{"HOME": filepath.Join(dir, "home"), "PATH": filepath.Join(dir, "bin")}
	require.Empty(t, agent.Locate(vars, "claude", vars[Bin]))
	home := put("home/.local/bin/claude")
	require.Equal(t, home, agent.Locate(vars, "claude", vars[Bin]))
	onPath := put("bin/claude")
	require.Equal(t, onPath, agent.Locate(vars, "claude", vars[Bin]))
	vars[Bin] = filepath.Join(dir, "nothing")
	require.Equal(t, onPath, agent.Locate(vars, "claude", vars[Bin]), "what is not there is passed over")
	vars[Bin] = put("named")
	require.Equal(t, vars[Bin], agent.Locate(vars, "claude", vars[Bin]))
}

func TestEnviron_OneCredential(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ given, want variables }{
		"key":          {variables{envKey: "k"}, variables{envKey: "k"}},
		"subscription": {variables{envKey: "k", envBearer: "b", envOAuth: "o"}, variables{envOAuth: "o"}},
		"neither":      {variables{envBaseURL: "u", envKey: ""}, variables{envBaseURL: "u", envKey: "none"}},
		"bearer":       {variables{envBaseURL: "u", envBearer: "b"}, variables{envBaseURL: "u", envBearer: "b"}},
	} {
		require.NoError(t, checkCredentials(c.given), name)
		credentials(c.given)
		require.Equal(t, c.want, c.given, name)
	}
	require.ErrorContains(t, checkCredentials(variables{"PATH": "x"}), "no credential")
}

func TestArguments(t *testing.T) {
	t.Parallel()
	env := agent.Env{Config: agentconfig.Config{Workspace: "/workspace", Description: "the secret task", TestCommand: "make check", Repo: &agentconfig.Repo{Branch: "feature/x"}}}
	p := &place{SessionID: "s"}
	given := func(vars variables) []string {
		rec := newRecorder(t.Context(), env, p)
		talk := newTalk(env, vars, "", p)
		talk.rec = rec
		return talk.arguments()
	}
	args := strings.Join(given(variables{"MODEL": "glm", "MAX_TURNS": "7", "DISALLOWED_TOOLS": "Bash", "ENABLE_SKILLS": "false"}), " ")
	for _, want := range []string{
		"--session-id s", "--model glm", "--max-turns 7", "--max-budget-usd 10.0000", "--permission-mode acceptEdits",
		"--disallowedTools Bash,Skill", "--allowedTools Read,Write,Edit,Glob,Grep,Task", "branch feature/x",
		"--permission-prompt-tool stdio",
	} {
		require.Contains(t, args, want)
	}
	require.NotContains(t, args, "secret task")
	require.NotContains(t, args, "make check")
	args = strings.Join(given(variables{askUser: askNever}), " ")
	require.Contains(t, args, "--disallowedTools AskUserQuestion")
	require.Contains(t, args, "Nobody answers questions")
	require.NotContains(t, SystemPrompt(env, variables{}), askTool, "other agents have no such tool")
	require.NotContains(t, args, "--permission-prompt-tool")
	args = strings.Join(given(variables{"ALLOWED_TOOLS": "Bash(git log:*), Read,"}), " ")
	require.Contains(t, args, "--allowedTools Bash(git log:*),Read")
	require.NotContains(t, given(variables{}), "--settings")
	env.Hook = "'/opt/omoi agent' hook --dir /omoi"
	require.Contains(t, strings.Join(given(variables{}), " "), `--settings {"disableAllHooks":false,"hooks":{"PreToolUse":[{"hooks":[{"command":"'/opt/omoi agent' hook --dir /omoi","timeout":10,"type":"command"}],"matcher":"Bash|Monitor|Edit|MultiEdit|Write|NotebookEdit"}]}}`)
	p.Begun = true
	require.Contains(t, given(variables{}), "--resume")
	require.Contains(t, FirstPrompt(env, p.Begun), "the secret task")
	require.Contains(t, FirstPrompt(env, p.Begun), "make check")
}

func TestSessionID(t *testing.T) {
	t.Parallel()
	const form = `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$`
	require.Regexp(t, form, sessionID("00112233445566778899aabbccddeeff"))
	require.Regexp(t, form, sessionID("x"))
	require.Regexp(t, form, newUUID())
	require.Equal(t, sessionID("00112233445566778899aabbccddeeff"), sessionID("00112233445566778899aabbccddeeff"))
}

// TestFirstPrompt checks that a resumed attempt learns that the previous one was cut off, or its feedback.
func TestFirstPrompt(t *testing.T) {
	t.Parallel()
	env := agent.Env{Config: agentconfig.Config{Title: "Compute it."}}
	require.Contains(t, FirstPrompt(env, true), "was cut off")
	env.Config.Feedback = "Nothing was done."
	text := FirstPrompt(env, true)
	require.NotContains(t, text, "was cut off")
	require.Contains(t, text, "You have worked on this task before.")
}
