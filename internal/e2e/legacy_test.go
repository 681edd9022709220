package e2e_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// TestLegacyScripts_SpawnAndWatch sends the requests of test_api_sandbox_spawn.py in its order, with what it expects of the
// answers, while test_websocket_client.py listens. The work is done by a legacy worker with /legacy in its address.
func TestLegacyScripts_SpawnAndWatch(t *testing.T) {
	t.Parallel()
	needPython(t)
	_, bare, settings := newHub(t)
	settings["OMOI_TASK_AGENT"], settings["OMOI_TASK_HEARTBEAT_TIMEOUT"] = task.AgentExternal, "60s"
	r := newRig(t, settings).up()
	script := legacyClient{r: r}
	socket := script.watches()

	ask200[map[string]any](script, http.MethodGet, "/health", nil)
	require.Empty(t, script.projectOf("acme", "app"))
	made := ask200[map[string]any](script, http.MethodPost, "/api/v1/projects", map[string]any{
		"name": hubRepo, "description": "sandbox testing", "github_owner": "acme", "github_repo": "app", "default_phase_id": "PHASE_IMPLEMENTATION",
	})
	project := made["id"].(string)
	require.Equal(t, project, script.projectOf("acme", "app"), "the next run finds it")
	ticket := ask200[map[string]any](script, http.MethodPost, "/api/v1/tickets", map[string]any{
		"title": "Calculate C(50,25)", "description": "Use Python.", "phase_id": "PHASE_IMPLEMENTATION", "priority": "HIGH",
		"project_id": project, "force_create": true,
	})
	work := script.pickedUp(ticket["id"].(string))
	id, box := work["id"].(string), work["sandbox_id"].(string)
	started := ask200[map[string]any](script, http.MethodPost, "/api/v1/branch-workflow/start", map[string]any{
		"ticket_id": ticket["id"], "ticket_title": "binomial-task-" + id[:8], "repo_owner": "acme", "repo_name": "app",
		"user_id": "f5d0b1a5-da18-46dc-8713-0d9820c65565", "ticket_type": "feature",
	})
	require.Equal(t, true, started["success"])

	branch := text(r.until(id, "has a branch", func(t task.Task) bool { return t.Branch != nil }).Branch)
	r.oldWorker(r.task(id), 1, script.base(), play(`{"write":["binomial.py","def c(n, k): pass\n"]},{"write":["binomial.py","print(c(50, 25))\n"]},`+
		`{"shell":"git clone -qb `+branch+` `+bare+` w && cp binomial.py w && cd w && git add -A && git -c user.name=w -c user.email=w@x commit -qm made && git push -q origin HEAD"},`+
		`{"say":"The result is 126410606437752. TASK_COMPLETE"}`))
	r.ends(id, task.StatusCompleted)
	done := ask200[map[string]any](script, http.MethodGet, "/api/v1/tasks/"+id, nil)
	require.Contains(t, done["result"].(map[string]any)["output"], "126410606437752")
	edits := script.edits(box)
	require.Len(t, edits, 2)
	require.Equal(t, []any{"modified", 1.0, 1.0}, []any{edits[0]["change_type"], edits[0]["lines_added"], edits[0]["lines_removed"]})
	require.Equal(t, "created", edits[1]["change_type"])
	r.eventually("the socket tells both", func() bool { return socket.tells("TASK_ASSIGNED", id) && socket.tells("TASK_COMPLETED", id) })
	for _, frame := range socket.all() {
		require.Contains(t, []any{nil, "TASK_ASSIGNED", "TASK_COMPLETED"}, frame["event_type"], "the filter holds")
	}
	r.gapless()
}

// projectOf returns the ID of a repository's project, as the script finds it.
func (c legacyClient) projectOf(owner, name string) string {
	c.r.t.Helper()
	page := ask200[struct {
		Projects []map[string]any `json:"projects"`
	}](c, http.MethodGet, "/api/v1/projects", nil)
	for _, p := range page.Projects {
		if p["github_owner"] == owner && p["github_repo"] == name {
			return p["id"].(string)
		}
	}
	return ""
}

// pickedUp waits as the script until the task of a ticket has a sandbox.
func (c legacyClient) pickedUp(ticket string) (work map[string]any) {
	c.r.t.Helper()
	c.r.eventually("the task is picked up", func() bool {
		for _, of := range ask200[[]map[string]any](c, http.MethodGet, "/api/v1/tasks", nil) {
			if of["ticket_id"] == ticket {
				work = ask200[map[string]any](c, http.MethodGet, "/api/v1/tasks/"+of["id"].(string), nil)
			}
		}
		return work["status"] == "assigned" && work["sandbox_id"] != nil
	})
	ask200[map[string]any](c, http.MethodGet, "/api/v1/sandboxes/"+work["sandbox_id"].(string)+"/trajectory?limit=50", nil)
	return work
}

// edits returns the data of all edits of a sandbox, as the script collects them.
func (c legacyClient) edits(box string) (found []map[string]any) {
	c.r.t.Helper()
	page := ask200[struct {
		Events []struct {
			ID   string         `json:"id"`
			Type string         `json:"event_type"`
			Data map[string]any `json:"event_data"`
		} `json:"events"`
	}](c, http.MethodGet, "/api/v1/sandboxes/"+box+"/trajectory?limit=100", nil)
	for _, event := range page.Events {
		require.NotEmpty(c.r.t, event.ID)
		if event.Type == "agent.file_edited" {
			found = append(found, event.Data)
		}
	}
	return found
}

// TestLegacy_CutOverAndWayBack runs one worker program against OmoiOS, then against omoi with authentication, with
// another address only, and then against OmoiOS again, which finds the work of omoi in the repository.
func TestLegacy_CutOverAndWayBack(t *testing.T) {
	t.Parallel()
	needPython(t)
	r, before := newRig(t, nil), newOldSystem(t)
	r.env["OMOI_API_AUTH_DISABLED"], r.env["OMOI_API_KEY"] = "false", plantedAPIKey
	r.env["OMOI_TOKEN_KEY"] = "tests." + base64.RawStdEncoding.EncodeToString([]byte(plantedTokenKey))
	r.env["OMOI_API_CALLBACK_URL"] += "/legacy"
	r.api = apiclient.New(r.env["OMOI_API_URL"], plantedAPIKey)
	r.up()
	r.worksAt(before, 1, sayDone)

	repo := r.repo()
	const commit = `{"write":["a.txt","done\n"]},{"shell":"git add -A && git commit -qm made && git push -q origin HEAD"}`
	good := r.startOldWorker(repo, play(`{"environment":true},`+commit+`,`+sayDone))
	empty := r.startOldWorker(repo, play(sayDone), retries(0))
	done := r.ends(good.ID, task.StatusCompleted)
	r.hasContract(done, "always", "task of a user", "continuous mode", "repository", "login", "calls can be checked")
	failed := r.ends(empty.ID, task.StatusFailed)
	require.Equal(t, task.ClassAgentError, failed.FailureClass)
	require.Contains(t, text(failed.ErrorMessage), "has no commit of this task", "an empty run is never a success")
	r.failsStale(repo)

	r.noLeaks()
	r.gapless()
	r.stop("worker")
	r.stop("api")
	r.worksAt(before, 2, `{"shell":"git clone -qb `+text(done.Branch)+` `+repo+` w && git -C w log -1 --format=%s"},`+sayDone)
}

// worksAt runs the worker against OmoiOS, until it has ended so many tasks there.
func (r *rig) worksAt(at *oldSystem, runs int, turn string) {
	r.t.Helper()
	w := r.oldWorkerOf("omoios-4f1c2d3e-a1b2c3", "4f1c2d3e-0000-4000-8000-000000000000", at.url, play(turn))
	r.eventually("OmoiOS has the end of the task", func() bool { return at.count("continuous.completed") == runs })
	r.eventually("the worker waits", func() bool { return at.count("agent.waiting") == runs })
	w.kill()
	require.Equal(r.t, runs, at.count("agent.started"))
	require.NotContains(r.t, w.said(), "event not taken")
}

// startOldWorker creates a task for which omoi starts the worker.
func (r *rig) startOldWorker(repo string, env map[string]string, edit ...func(*apiclient.CreateTaskRequest)) task.Task {
	r.t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "oldworker.py"))
	require.NoError(r.t, err)
	config, err := json.Marshal(map[string]any{"command": []string{"python3", "-c", string(source)}, "env": env})
	require.NoError(r.t, err)
	return r.submit(repo, config, append([]func(*apiclient.CreateTaskRequest){asCommand}, edit...)...)
}

// failsStale sends the requests of batch_fail_tasks.py in its order: lists by status, then a change of each task.
func (r *rig) failsStale(repo string) {
	r.t.Helper()
	working, waiting := r.outside(repo), r.outside(repo)
	r.agentOf(working.ID, 1)
	r.agentOf(waiting.ID, 1)
	script := legacyClient{r: r, key: plantedAPIKey}
	var stale []map[string]any
	for _, status := range []string{"running", "pending", "assigned"} {
		stale = append(stale, ask200[[]map[string]any](script, http.MethodGet, "/api/v1/tasks?status="+status, nil)...)
	}
	require.Len(r.t, stale, 2)
	for _, of := range stale {
		created, err := time.Parse("2006-01-02T15:04:05.000000+00:00", of["created_at"].(string))
		require.NoError(r.t, err, "the form that each version of Python reads")
		require.WithinRange(r.t, created, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
		changed := ask200[map[string]any](script, http.MethodPatch, "/api/v1/tasks/"+of["id"].(string),
			map[string]any{"status": "failed", "error_message": "Stale task - batch cleanup"})
		require.Equal(r.t, "failed", changed["status"])
	}
	for _, id := range []string{working.ID, waiting.ID} {
		require.Contains(r.t, text(r.ends(id, task.StatusFailed).ErrorMessage), "Stale task - batch cleanup")
	}
}

// TestLegacy_SandboxesOfOmoiOSStay has a sandbox of OmoiOS in the same account at Daytona. Neither the reaper nor the end of a
// task nor prune touches it.
func TestLegacy_SandboxesOfOmoiOSStay(t *testing.T) {
	t.Parallel()
	cloud, settings := startCloud(t)
	settings["OMOI_REAPER_INTERVAL"], settings["OMOI_REAPER_GRACE_PERIOD"] = "1s", "1s"
	foreign := createAt(t, cloud, `{"snapshot":"ai-agent-dev-light","labels":{"project":"omoios","task_id":"4f1c2d3e","agent_id":"a","phase_id":"PHASE_IMPLEMENTATION"}}`)
	r := newRig(t, settings).up()
	made := r.submit(r.repo(), script(stepWrite, stepCommit, stepComplete), inDaytona)
	r.ends(made.ID, task.StatusCompleted)
	r.noLeaks()
	r.reaped(3)
	swept := r.omoi("sandbox", "prune", "--json")
	require.Zero(t, swept.code, swept.stderr)
	require.JSONEq(t, "[]", swept.stdout)
	left := cloud.Boxes()
	require.Len(t, left, 1)
	require.Equal(t, foreign, left[0].ID)
	require.Equal(t, daytonatest.StateStarted, left[0].State)
}

// createAt creates a sandbox as another client of Daytona.
func createAt(t *testing.T, cloud *daytonatest.Server, order string) (id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, cloud.URL()+"/sandbox", strings.NewReader(order))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+cloud.Key())
	res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	var made struct {
		ID string `json:"id"`
	}
	require.NoError(t, json.NewDecoder(res.Body).Decode(&made))
	require.NotEmpty(t, made.ID, res.Status)
	return made.ID
}
