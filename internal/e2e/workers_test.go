package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	apiclient "github.com/omoi-dev/omoi/api/client"
)

// workers is what /readyz says of task queues; the API is ready whatever that is.
func (r *rig) workers() apiclient.Dependency {
	ready, err := r.api.Ready(context.Background())
	require.NoError(r.t, err)
	require.True(r.t, ready.Ready)
	for _, d := range ready.Dependencies {
		if d.Name == "workers" {
			return d
		}
	}
	return apiclient.Dependency{}
}

func TestWorkers_NamedWithQueuesAndVersions(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.startAPI()
	d := r.workers()
	require.Equal(t, apiclient.StateDown, d.State)
	require.Contains(t, d.Detail, "No worker polls omoi-tasks and omoi-sandboxes")
	require.Equal(t, "omoi worker", d.Next)
	info, err := r.api.Info(t.Context())
	require.NoError(t, err)
	require.NotContains(t, info.Sandboxes, "local", "no host offers them")
	require.Contains(t, r.omoi("doctor").stdout, "No worker polls omoi-tasks")
	waited := r.omoi("run", "Wait", "--repo", r.repo(), "--script", "example:hello", "--wait", "--wait-timeout", "5s")
	require.Contains(t, waited.stdout+waited.stderr, "No worker polls omoi-tasks", "the user is told why nothing happens")
	alarms := func() int { return r.count(`SELECT count(*) FROM alerts WHERE source = 'workers'`) }
	r.eventually("an alert is raised", func() bool { return alarms() == 1 })

	r.startWorker()
	r.eventually("the worker is named", func() bool { return r.workers().State == apiclient.StateOK })
	d = r.workers()
	require.Regexp(t, `version \S+, polls omoi-tasks, omoi-sandboxes and omoi-host-\S+$`, d.Detail)
	require.Contains(t, r.omoi("doctor").stdout, "polls omoi-tasks")
	r.eventually("the alert is taken back", func() bool { return alarms() == 0 })
	info, err = r.api.Info(t.Context())
	require.NoError(t, err)
	require.Contains(t, info.Sandboxes, "local")
}
