package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/live"
	"github.com/omoi-dev/omoi/internal/task"
	pgtest "github.com/omoi-dev/omoi/internal/testkit/postgres"
)

// program is a runtime whose program is missing until it is installed.
type program struct {
	mu        sync.Mutex
	installed bool
	asked     task.Work
}

func (p *program) install(there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.installed = there
}

func (p *program) last() task.Work {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func (p *program) AgentRuntimes(_ context.Context, work task.Work) ([]api.AgentRuntime, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = work
	if p.installed {
		return []api.AgentRuntime{{Agent: task.AgentClaude}}, nil
	}
	return []api.AgentRuntime{{Agent: task.AgentClaude, Missing: []string{"There is no program. Next: install it."}}}, nil
}

// withProgram starts a server on which one runtime may be installed.
func withProgram(t *testing.T, agent string) (*world, *program) {
	t.Helper()
	return startWithProgram(t, func(c *api.Config) { c.Agent = agent })
}

func startWithProgram(t *testing.T, change func(*api.Config)) (*world, *program) {
	t.Helper()
	p := &program{}
	return startWith(t, pgtest.New(t), live.New(), func(c *api.Config) {
		c.Open = true
		change(c)
	}, func(d *api.Deps) { d.Runtimes = p }), p
}

func TestTaskWithoutAgent_GetsTheFirstRuntimeThatWorks(t *testing.T) {
	t.Parallel()
	w, p := withProgram(t, "")
	unnamed := client.CreateTaskRequest{Repo: goodRepo, Title: "x"}
	ticket := client.CreateTicketRequest{Repo: goodRepo, Title: "x"}
	refused := w.call(http.MethodPost, "/api/v1/tasks", unnamed).refused(http.StatusConflict, "")
	require.Equal(t, task.KindNoAgent, refused.Code)
	require.Contains(t, refused.Detail, "claude: There is no program. Next: install it.")
	require.Contains(t, refused.Detail, "These agents always work: "+strings.Join(withoutModel(), ", ")+".")
	w.call(http.MethodPost, "/api/v1/tickets", ticket).refused(http.StatusConflict, "")
	require.Zero(t, w.count(`SELECT count(*) FROM tasks`)+w.count(`SELECT count(*) FROM tickets`))

	p.install(true)
	made := w.task(unnamed)
	require.Equal(t, task.AgentClaude, made.Agent)
	require.Equal(t, task.Work{OrganizationID: w.org, Provider: task.ProviderLocal}, p.last())
	w.task(client.CreateTaskRequest{TicketID: made.TicketID, Title: "y"})
	require.Equal(t, made.ProjectID, p.last().ProjectID, "credentials of the project count")
	w.task(client.CreateTaskRequest{Repo: goodRepo, Title: "z"})
	w.task(client.CreateTaskRequest{Repo: goodRepo + "/", Title: "z"})
	require.Equal(t, made.ProjectID, p.last().ProjectID, "a repository has one project, however it is written")
}

func TestTaskWithoutAgent_ErrorNamesTheField(t *testing.T) {
	t.Parallel()
	w, p := withProgram(t, "")
	for _, installed := range []bool{true, false} {
		p.install(installed)
		for field, in := range map[string]client.CreateTaskRequest{
			"body.project_id": {ProjectID: "abc", Title: "x"},
			"body.ticket_id":  {TicketID: "abc", Title: "x"},
			"body.repo":       {Repo: "/srv/\x00", Title: "x"},
		} {
			w.call(http.MethodPost, "/api/v1/tasks", in).refused(422, field)
		}
	}
}

// A request that names its agent needs no runtime.
func TestTaskWithScriptOrExternalSandbox_NamesItsAgent(t *testing.T) {
	t.Parallel()
	w, _ := withProgram(t, "")
	script := json.RawMessage(`{"script":{"steps":[{"say":"x"}]}}`)
	require.Equal(t, task.AgentScripted, w.task(client.CreateTaskRequest{Repo: goodRepo, Title: "x", Execution: script}).Agent)
	w.call(http.MethodPost, "/api/v1/tasks", client.CreateTaskRequest{
		Repo: goodRepo, Title: "x", Execution: json.RawMessage(`{"script":null}`),
	}).refused(http.StatusConflict, "")
	require.Equal(t, task.AgentExternal, w.task(client.CreateTaskRequest{
		Repo: goodRepo, Title: "x", Provider: task.ProviderExternal,
	}).Agent)
	require.Equal(t, task.AgentClaude, w.task(client.CreateTaskRequest{Repo: goodRepo, Title: "x", Agent: task.AgentClaude}).Agent,
		"a setup step may install it")
	w.call(http.MethodPost, "/api/v1/tasks", client.CreateTaskRequest{
		Repo: goodRepo, Title: "x", Execution: json.RawMessage(`{"command":1}`),
	}).refused(422, "body.execution_config.command")
	configured, _ := withProgram(t, task.AgentExternal)
	require.Equal(t, task.AgentExternal, configured.task(client.CreateTaskRequest{Repo: goodRepo, Title: "x"}).Agent)
}

func TestRepeatedRequest_ReturnsItsTaskWithoutTheAgent(t *testing.T) {
	t.Parallel()
	w, p := withProgram(t, "")
	p.install(true)
	unnamed := client.CreateTaskRequest{Repo: goodRepo, Title: "x"}
	made := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", unnamed, "Idempotency-Key", "k"), http.StatusCreated)
	p.install(false)
	again := ok[client.Task](w.call(http.MethodPost, "/api/v1/tasks", unnamed, "Idempotency-Key", "k"), http.StatusOK)
	require.Equal(t, made.ID, again.ID)
	require.Equal(t, task.AgentClaude, again.Agent)
}

func TestInfo_OffersOnlyAgentsThatWork(t *testing.T) {
	t.Parallel()
	w, p := withProgram(t, "")
	own := withoutModel()
	read := func(w *world) client.Info {
		return ok[client.Info](w.call(http.MethodGet, "/api/v1/info", nil), http.StatusOK)
	}
	require.Equal(t, own, read(w).Agents)
	require.Empty(t, read(w).DefaultAgent)
	p.install(true)
	require.Equal(t, append([]string{task.AgentClaude}, own...), read(w).Agents)
	require.Equal(t, task.AgentClaude, read(w).DefaultAgent)
	configured, _ := withProgram(t, task.AgentScripted)
	require.Equal(t, task.AgentScripted, read(configured).DefaultAgent)
	configured, _ = withProgram(t, task.AgentClaude)
	require.Empty(t, read(configured).DefaultAgent, "it is not among agents")
}

func TestInfo_OffersExternalInExternalSandboxes(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"", task.AgentClaude} {
		w, _ := startWithProgram(t, func(c *api.Config) {
			c.Agent, c.Provider, c.Shared = agent, task.ProviderExternal, []string{task.ProviderDaytona}
		})
		info := ok[client.Info](w.call(http.MethodGet, "/api/v1/info", nil), http.StatusOK)
		require.Equal(t, []string{task.AgentExternal}, info.Agents)
		require.Equal(t, []string{task.ProviderExternal, task.ProviderDaytona}, info.Sandboxes, "the default comes first")
		require.Equal(t, task.AgentExternal, info.DefaultAgent)
	}
}

// withoutModel returns the runtimes that need neither a program nor a credential.
func withoutModel() (names []string) {
	for _, r := range task.Runtimes {
		if !r.NeedsModel {
			names = append(names, r.Name)
		}
	}
	return names
}
