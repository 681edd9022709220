package e2e_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// indiscreet stands for Claude Code: it tells all that it was given by every way that it has, its transcript too.
const indiscreet = `#!/bin/sh
[ "$1" = --version ] && echo "2.1.328 (Claude Code)" && exit
while [ "$1" != --session-id ]; do shift; done
read -r line
uuid=$(printf %s "$line" | sed 's/.*"uuid":"\([^"]*\)".*/\1/')
all=$(env | tr -d '"\\' | tr '\n' ' ')
kept=$CLAUDE_CONFIG_DIR/projects/$(pwd | tr -c 'a-zA-Z0-9\n' -)
mkdir -p "$kept" && printf '{"type":"assistant","said":"%s"}\n' "$all" > "$kept/$2.jsonl"
echo "$CLAUDE_CODE_OAUTH_TOKEN" >&2
printf '%s\n' "what nobody can read: $all"
printf '{"type":"user","isReplay":true,"uuid":"%s","message":{"role":"user","content":"x"}}\n' "$uuid"
printf '{"type":"assistant","message":{"id":"m1","model":"m","content":[{"type":"text","text":"I was given %s"}]}}\n' "$all"
printf '{"type":"result","subtype":"success","result":"with %s","total_cost_usd":0.1,"num_turns":1}\n' "$CLAUDE_CODE_OAUTH_TOKEN"
cat > /dev/null
`

// plantClaude puts that program where sandboxes can reach it.
func (r *rig) plantClaude() {
	r.t.Helper()
	dir, err := os.MkdirTemp("", "omoi-claude-") // t.TempDir is closed to the users of sandboxes
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(r.t, os.Chmod(dir, 0o755))
	r.env["OMOI_CLAUDE_BIN"] = filepath.Join(dir, "claude")
	require.NoError(r.t, os.WriteFile(r.env["OMOI_CLAUDE_BIN"], []byte(indiscreet), 0o755))
}

// claudeTells is a task of that program, with the subscription of its owner.
func (r *rig) claudeTells(repo string) task.Task {
	r.t.Helper()
	return r.submit(repo, json.RawMessage(`{"continuous":false,"env":{"REQUIRE_CODE_PUSHED":"false"}}`), func(in *apiclient.CreateTaskRequest) { in.Agent = task.AgentClaude }, retries(0))
}

// claudeToldNothing holds that it did tell, and that its subscription did not get out.
func (r *rig) claudeToldNothing(made task.Task) {
	r.t.Helper()
	require.Contains(r.t, string(r.task(made.ID).Result), "with [redacted]")
	require.Positive(r.t, r.count(`SELECT count(*) FROM sandbox_events e JOIN sandboxes s ON s.id = e.sandbox_id
		WHERE s.task_id = $1 AND e.event_type = 'agent.message' AND strpos(e.event_data ->> 'content', 'CLAUDE_CODE_OAUTH_TOKEN=[redacted]') > 0`, made.ID))
	require.Contains(r.t, r.omoi("transcript", made.ID).stdout, "CLAUDE_CODE_OAUTH_TOKEN=[redacted]")
}

// inAnswers searches what the command line and the API show of the tasks, to whoever may see all of it.
func (r *rig) inAnswers(secrets []string, ids ...string) []string {
	r.t.Helper()
	look, shown := needlesOf(secrets), map[string]string{"metrics": r.metricsText()}
	for _, args := range [][]string{{"ps", "--json"}, {"sandboxes", "--json"}, {"config", "show"}, {"credentials", "list", "--json"}, {"doctor"}} {
		shown[strings.Join(args, " ")] = r.told(args...)
	}
	for _, id := range ids {
		for _, args := range [][]string{{"show", id}, {"show", id, "--json"}, {"logs", id}, {"transcript", id}, {"diff", id}, {"receipt", id}} {
			shown[strings.Join(args, " ")] = r.told(args...)
		}
	}
	var found []string
	for what, text := range shown {
		for _, s := range look.in([]byte(text)) {
			found = append(found, s+" in omoi "+what)
		}
	}
	return found
}

func (r *rig) told(args ...string) string {
	r.t.Helper()
	said := r.omoi(args...)
	require.NotEmpty(r.t, said.stdout+said.stderr, "omoi %v", args)
	return said.stdout + said.stderr
}

func (r *rig) metricsText() string {
	r.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, r.env["OMOI_API_URL"]+"/metrics", http.NoBody)
	require.NoError(r.t, err)
	req.Header.Set("Authorization", "Bearer "+r.env["OMOI_API_KEY"])
	res, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	defer func() { _ = res.Body.Close() }()
	require.Equal(r.t, http.StatusOK, res.StatusCode)
	text, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	require.Contains(r.t, string(text), "omoi_")
	return string(text)
}

// inRepositories searches every object and every ref of every repository that there is: commits, saved work, what
// pull requests say of themselves, and objects that nothing names.
func (r *rig) inRepositories(secrets []string) []string {
	r.t.Helper()
	look, all := needlesOf(secrets), 0
	var found []string
	require.NoError(r.t, filepath.WalkDir(r.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != "objects" {
			return nil //nolint:nilerr // sandboxes come and go
		}
		all++
		for _, args := range [][]string{{"for-each-ref"}, {"cat-file", "--batch-all-objects", "--batch"}} {
			out, err := exec.Command("git", append([]string{"--git-dir", filepath.Dir(path)}, args...)...).Output()
			if err != nil {
				return nil //nolint:nilerr // a folder of that name, and no repository
			}
			for _, s := range look.in(out) {
				found = append(found, s+" in "+filepath.Dir(path))
			}
		}
		return nil
	}))
	require.Positive(r.t, all)
	return found
}
