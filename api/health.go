package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/gin-gonic/gin"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/api/ui"
	"github.com/omoi-dev/omoi/internal/task"
)

// Probe is one dependency in the response of /readyz.
type Probe struct {
	Name     string // database, temporal, relay, redis
	Required bool   // the server is not ready without it
	// Check returns nil if the dependency works; the public message of its error is shown. A nil Check means that the
	// dependency is not configured: off.
	Check func(ctx context.Context) error
	// Tell returns details of a working dependency; nil: none.
	Tell func(ctx context.Context) string
}

// DownError is the error of a [Probe] that names the next command.
type DownError struct {
	Err     error
	Next    string
	NoTasks bool // no task can start
}

func (e DownError) Error() string { return e.Err.Error() }

func (e DownError) Unwrap() error { return e.Err }

// health reports that the process responds. It checks nothing else.
func (a *API) health(context.Context, *struct{}) (*bodyOut[client.Health], error) {
	return body(client.Health{Status: "ok", Version: a.cfg.Version}, nil)
}

// welcome shows the web page to a browser, and tells programs where to read on.
func (a *API) welcome(c *gin.Context) {
	c.Header("Vary", "Accept")
	if wantsPage(c.Request) {
		a.servePage(c, http.StatusOK, ui.Index)
		return
	}
	if err := a.noPage(c.Request); err != nil {
		a.writeError(c.Writer, c.Request, err)
		return
	}
	c.JSON(http.StatusOK, map[string]string{
		"name": "omoi", "version": a.cfg.Version, "openapi": "/api/v1/openapi.json", "info": "/api/v1/info",
		"health": "/healthz", "readiness": "/readyz", "tasks": "/api/v1/tasks", "temporal_ui": a.cfg.TemporalUIURL,
	})
}

type readyOut struct {
	Status int
	Body   client.Readiness
}

// ready checks every dependency concurrently. A dependency that does not respond in time is down.
func (a *API) ready(ctx context.Context, _ *struct{}) (*readyOut, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	states := make([]client.Dependency, len(a.deps.Probes))
	var group sync.WaitGroup
	for n, probe := range a.deps.Probes {
		group.Go(func() { states[n] = stateOf(ctx, probe) })
	}
	group.Wait()
	out := &readyOut{Status: http.StatusOK, Body: client.Readiness{Ready: true, Dependencies: states}}
	for _, s := range states {
		if s.Required && s.State != client.StateOK {
			out.Status, out.Body.Ready = http.StatusServiceUnavailable, false
		}
	}
	return out, nil
}

func stateOf(ctx context.Context, p Probe) client.Dependency {
	d := client.Dependency{Name: p.Name, Required: p.Required, State: client.StateOff}
	if p.Check == nil {
		return d
	}
	if err := p.Check(ctx); err != nil {
		if task.CodeOf(err) == task.CodeInternal && errors.Is(err, context.DeadlineExceeded) {
			err = task.Errorf(task.CodeUnavailable, "No answer within %s.", probeTimeout).WithCause(err)
		}
		down, _ := errors.AsType[DownError](err)
		d.State, d.Detail, d.Next = client.StateDown, task.MessageOf(err), down.Next
		return d
	}
	d.State = client.StateOK
	if p.Tell != nil {
		d.Detail = p.Tell(ctx)
	}
	return d
}

// info returns the agents and sandboxes that a task can get now: sandboxes of online hosts, and sandboxes that need no
// host.
func (a *API) info(ctx context.Context, _ *struct{}) (*bodyOut[client.Info], error) {
	agents, first := a.offeredAgents(ctx)
	return body(client.Info{
		Version: a.cfg.Version, TemporalUIURL: a.cfg.TemporalUIURL, Namespace: a.cfg.Namespace, AuthDisabled: a.cfg.Open,
		Protocol: a.cfg.Protocol, Agents: agents, DefaultAgent: first, Sandboxes: a.offeredSandboxes(ctx),
	}, nil)
}

func (a *API) offeredSandboxes(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	hosts, _ := a.deps.Hosts.Hosts(ctx) // after an error no host is known
	var offered []string
	for _, name := range task.ProviderNames() {
		reports := func(h client.Host) bool { return h.Online && slices.Contains(h.Providers, name) }
		switch {
		case task.ProviderOf(name).Machine && !slices.Contains(a.cfg.Shared, name) && !slices.ContainsFunc(hosts, reports):
		case name == a.cfg.Provider:
			offered = slices.Insert(offered, 0, name)
		default:
			offered = append(offered, name)
		}
	}
	return offered
}
