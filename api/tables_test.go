package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/api"
	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/testkit/tables"
)

//nolint:paralleltest // it changes the tables
func TestTasks_AcceptKnownRuntimesAndProviders(t *testing.T) {
	in := client.CreateTaskRequest{Repo: goodRepo, Title: "x", Agent: tables.Dummy, Provider: tables.Dummy}
	w := start(t, func(c *api.Config) { c.Open, c.Shared = true, []string{tables.Dummy} })
	w.call(http.MethodPost, "/api/v1/tasks", in).refused(422, "body.agent")
	tables.AddDummy(t)
	made := w.task(in)
	require.Equal(t, []string{tables.Dummy, tables.Dummy}, []string{made.Agent, made.Provider})
	info := ok[client.Info](w.call(http.MethodGet, "/api/v1/info", nil), http.StatusOK)
	require.Contains(t, info.Sandboxes, tables.Dummy)
}
