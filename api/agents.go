package api

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/task"
)

// AgentRuntime is an agent runtime whose program the user installs, for example claude.
type AgentRuntime struct {
	Agent string
	// Missing holds sentences, each with the next command. The runtime works if Missing is empty.
	Missing []string
}

// Runtimes checks the agent runtimes.
type Runtimes interface {
	// AgentRuntimes returns the runtimes for a task of this owner, provider and execution, the preferred one first; only that
	// of the agent, if the task names one.
	AgentRuntimes(ctx context.Context, work task.Work) ([]AgentRuntime, error)
}

// draftAgent chooses the agent of a task that names none: the agent that its sandbox or script implies, the operator's
// default, or the first runtime that works. If none works, it sets NoAgent.
func (a *API) draftAgent(ctx context.Context, d *task.NewTask, in client.CreateTaskRequest) error {
	_, execution, err := executionOf(in)
	switch {
	case err != nil:
		return err
	case !task.ProviderOf(d.Provider).Machine:
		d.Agent = task.AgentExternal
	case len(execution.Script) > 0:
		d.Agent = task.AgentScripted
	default:
		who := callerOf(ctx)
		work := task.Work{OrganizationID: who.organization, UserID: who.user, Provider: d.Provider, Execution: execution}
		if work.ProjectID, err = a.projectOf(ctx, in); err == nil {
			d.Agent, d.NoAgent, err = a.defaultAgent(ctx, work)
		}
	}
	return err
}

// projectOf returns the ID of the project of a request. The ID is empty if the project does not exist yet, or if the
// repository is invalid, which [API.draft] rejects.
func (a *API) projectOf(ctx context.Context, in client.CreateTaskRequest) (string, error) {
	org := callerOf(ctx).organization
	switch {
	case isID(in.ProjectID):
		return in.ProjectID, nil
	case isID(in.TicketID):
		ticket, err := a.deps.Tickets.Ticket(ctx, org, in.TicketID)
		if task.CodeOf(err) == task.CodeNotFound {
			err = nil
		}
		return ticket.ProjectID, err
	}
	repo, err := cleanRepo(in.Repo)
	if err != nil {
		return "", nil //nolint:nilerr // draft says it, after the fields before it
	}
	return a.deps.Projects.ProjectOf(ctx, org, a.deps.Repos.Name(repo))
}

// defaultAgent returns the agent of a task that names none; missing is an error with the next step if no agent works.
func (a *API) defaultAgent(ctx context.Context, work task.Work) (agent string, missing, err error) {
	if a.cfg.Agent != "" {
		return a.cfg.Agent, nil, nil
	}
	runtimes, err := a.agentRuntimes(ctx, work)
	if err != nil {
		return "", nil, err
	}
	var why strings.Builder
	first := "" // command
	for _, r := range runtimes {
		if !choosable(r.Agent, work.Provider) {
			continue
		}
		if len(r.Missing) == 0 {
			return r.Agent, nil, nil
		}
		if task.RuntimeOf(r.Agent).ACP {
			continue // one that nobody installed is worth no word
		}
		why.WriteString(" " + r.Agent + ":")
		for _, missing := range r.Missing {
			reason, next, _ := strings.Cut(missing, " Next: ")
			why.WriteString(" " + reason)
			first = cmp.Or(first, next)
		}
	}
	return "", task.Errorf(task.CodeConflict, "Cannot choose an agent: the task names none, and no agent with a model works in %s sandboxes. These agents always work: %s.%s Next: %s",
		work.Provider, strings.Join(ownAgents(), ", "), why.String(), cmp.Or(first, "name the agent")).WithKind(task.KindNoAgent), nil
}

// choosable reports whether an agent may be a default: nobody knows whether an image has the program of the others.
func choosable(agent, provider string) bool {
	return !task.RuntimeOf(agent).ACP || provider == task.ProviderLocal
}

func (a *API) agentRuntimes(ctx context.Context, work task.Work) ([]AgentRuntime, error) {
	if a.deps.Runtimes == nil {
		return nil, nil
	}
	return a.deps.Runtimes.AgentRuntimes(ctx, work)
}

// refuseUnable sets NoAgent for a task that names an agent which cannot start, before the task gets a slot. A setup step may
// install the program, so then only the credential counts. Tasks for Claude Code are accepted in any case.
func (a *API) refuseUnable(ctx context.Context, d *task.NewTask, in client.CreateTaskRequest) error {
	if !task.RuntimeOf(in.Agent).ACP {
		return nil
	}
	who := callerOf(ctx)
	work := task.Work{OrganizationID: who.organization, UserID: who.user, Provider: d.Provider, Agent: in.Agent}
	_, execution, err := executionOf(in)
	if err == nil {
		work.Execution = execution
		work.ProjectID, err = a.projectOf(ctx, in)
	}
	prepared := false
	if err == nil {
		prepared, err = a.setUp(ctx, work)
	}
	if err != nil {
		return err
	}
	if prepared {
		work.Provider = ""
	}
	runtimes, err := a.agentRuntimes(ctx, work)
	for _, r := range runtimes {
		if r.Agent == in.Agent && len(r.Missing) > 0 {
			d.NoAgent = task.Errorf(task.CodeConflict, "Cannot start the agent %s: %s", in.Agent, strings.Join(r.Missing, " ")).WithKind(task.KindNoAgent)
		}
	}
	return err
}

// setUp reports whether a setup step precedes the agent.
func (a *API) setUp(ctx context.Context, work task.Work) (bool, error) {
	if setup := work.Execution.Setup; setup != nil {
		return *setup != "", nil
	}
	if work.ProjectID == "" {
		return false, nil
	}
	project, err := a.deps.Projects.Project(ctx, work.OrganizationID, work.ProjectID)
	return err == nil && project.Setup != "", err
}

// ownAgents returns the agents that are part of omoi and always work.
func ownAgents() []string {
	return slices.DeleteFunc(task.RuntimeNames(), func(agent string) bool { return task.RuntimeOf(agent).NeedsModel })
}

// offeredAgents returns the agents that work for every user of the organization in the default sandbox, and the default
// agent. The default is empty if the operator's default is not among them, or if no agent runtime works.
func (a *API) offeredAgents(ctx context.Context) (agents []string, first string) {
	if !task.ProviderOf(a.cfg.Provider).Machine {
		return []string{task.AgentExternal}, task.AgentExternal
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	work := task.Work{OrganizationID: a.cfg.Organization, Provider: a.cfg.Provider}
	if a.cfg.Open {
		work.UserID = a.cfg.User
	}
	runtimes, _ := a.agentRuntimes(ctx, work) // an unknown runtime is not offered
	first = a.cfg.Agent
	for _, r := range runtimes {
		if len(r.Missing) > 0 {
			continue
		}
		agents = append(agents, r.Agent)
		if first == "" && choosable(r.Agent, work.Provider) {
			first = r.Agent
		}
	}
	if agents = append(agents, ownAgents()...); !slices.Contains(agents, first) {
		first = ""
	}
	return agents, first
}
