package e2e_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent/acp"
	"github.com/omoi-dev/omoi/internal/cli/scenario"
	"github.com/omoi-dev/omoi/internal/testkit/codingagents"
)

const (
	checkWait = 25 * time.Minute
	slowCheck = 60 // seconds of a check that only make agents-table runs
)

// isChecked runs omoi check agent.
func (a *realAgent) isChecked() {
	a.t.Helper()
	if a.dialect.Command != nil { // omoi check runs programs that speak the protocol themselves
		return
	}
	args, row := []string{"check", "agent", a.dialect.Name, "--json", "--only"}, codingagents.Recorded()[a.dialect.Name]
	only := []string{}
	for _, name := range acp.CheckNames() {
		if codingagents.Records() || row[name].Seconds <= slowCheck {
			only = append(only, name)
		}
	}
	out := a.within(checkWait, a.program(), append(args, strings.Join(only, ","))...)
	require.Zero(a.t, out.code, out.stdout+out.stderr)
	var report struct {
		Checks []scenario.Result `json:"checks"`
	}
	require.NoError(a.t, json.Unmarshal([]byte(out.stdout), &report), out.stdout)
	require.Len(a.t, report.Checks, 1)
	require.Len(a.t, report.Checks[0].Steps, len(only))
	for i, s := range report.Checks[0].Steps {
		require.Equal(a.t, only[i], s.Name)
		saw := cmp.Or(string(s.Class), map[bool]string{true: a.dialect.Least, false: "no process left"}[s.Name == "version"])
		a.sees(s.Name, saw, time.Duration(s.Seconds*float64(time.Second)))
	}
}
