package supervise_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/supervise"
)

// well returns n healthy agents, spread over the phases.
func well(n int, phases ...string) []supervise.Agent {
	var all []supervise.Agent
	for i := range n {
		all = append(all, supervise.Agent{
			TaskID: fmt.Sprint("task-", i), ProjectID: "p", Phase: phases[i%len(phases)], Known: true, Score: 0.9, Aligned: true,
		})
	}
	return all
}

func TestConduct_CoherenceFormula(t *testing.T) {
	t.Parallel()
	agents := well(10, "a", "b")
	f := supervise.Conduct(agents, nil)
	require.InDelta(t, 1, *f.Coherence, 1e-9, "the mean, two phases of ten, an even load: 1.02, and 1 at most")
	require.Equal(t, supervise.FleetOptimal, f.Status)

	agents[0].Aligned, agents[0].Steer, agents[0].Score = false, true, 0.1
	agents[1].Phase = "a" // 6 and 4
	f = supervise.Conduct(agents, nil)
	require.InDelta(t, 0.82-0.02-0.03+0.02+(1-1.0/25)*0.1, *f.Coherence, 1e-9)
	require.InDelta(t, *f.Coherence, f.AtMost, 1e-9, "all are judged")
	require.Equal(t, map[string]int{"a": 6, "b": 4}, f.Phases)
	require.Equal(t, 1, f.Steering)
}

// OmoiOS called a fleet of unknown sandboxes perfect.
func TestConduct_UnknownAgents(t *testing.T) {
	t.Parallel()
	agents := well(10, "a")
	for i := range agents {
		agents[i].Known = i < 4
	}
	f := supervise.Conduct(agents, nil)
	require.Nil(t, f.Coherence)
	require.Equal(t, supervise.FleetUnknown, f.Status)
	require.Equal(t, 4, f.Judged)
	require.Contains(t, strings.Join(f.Recommendations, "\n"), "Coherence is unknown: 6 of 10 agents have no alignment, 6 without a recent analysis. Next: omoi guardian status")
	agents[4].Known = true
	require.NotNil(t, supervise.Conduct(agents, nil).Coherence, "of half of them it is known")
	require.Equal(t, supervise.FleetNoAgents, supervise.Conduct(nil, nil).Status)
}

// One finding does not decide about 99 unknown agents; 70 findings do.
func TestConduct_RulesAlone(t *testing.T) {
	t.Parallel()
	require.Equal(t, supervise.FleetUnknown, caught(100, 1).Status)
	require.Equal(t, 99, caught(100, 1).Unknown)
	require.Nil(t, caught(100, 1).Coherence)
	require.Equal(t, supervise.FleetUnknown, caught(100, 30).Status)
	require.Nil(t, caught(100, 49).Coherence, "nothing is known of the others, but it can be no better than this:")
	require.Equal(t, supervise.FleetWarning, caught(100, 49).Status)
	require.Less(t, caught(100, 49).AtMost, 0.5)
	require.Equal(t, supervise.FleetCritical, caught(100, 70).Status)
}

// caught returns the summary of n agents without a model, k of which have a finding.
func caught(n, k int) supervise.Fleet {
	agents := well(n, "a")
	for i := range agents {
		agents[i].Known = i < k
		agents[i].Caught, agents[i].Score, agents[i].Aligned, agents[i].Steer = true, 0.2, false, true
	}
	return supervise.Conduct(agents, nil)
}

// Rules report faults only, so agents with a finding do not represent unknown agents.
func TestConduct_FaultyAgentsDoNotRepresentOthers(t *testing.T) {
	t.Parallel()
	f := caught(2, 1)
	require.Nil(t, f.Coherence)
	require.NotEqual(t, supervise.FleetCritical, f.Status)
	require.Equal(t, []int{2, 1, 1, 1}, []int{f.Agents, f.Judged, f.Unknown, f.Steering})

	agents := well(10, "a") // a model analyzed half of the agents without a finding
	for i := range 4 {
		agents[i].Known = false
	}
	agents[8].Caught, agents[8].Score, agents[8].Aligned, agents[8].Steer = true, 0.2, false, true
	agents[9] = agents[8]
	f = supervise.Conduct(agents, nil)
	require.InDelta(t, (2*0.2+8*0.9)/10-0.2*0.2-0.2*0.3+0.01+0.1, *f.Coherence, 1e-9)
	require.Equal(t, supervise.FleetNormal, f.Status)
}

// The statuses critical and optimal need a score that unknown agents cannot change.
func TestConduct_StatusesNeedAnalyses(t *testing.T) {
	t.Parallel()
	one := func(score float64, known int) supervise.Fleet {
		agents := well(10, "a")
		for i := range agents {
			agents[i].Known, agents[i].Score = i < known, score
			agents[i].Aligned, agents[i].Steer = score > 0.5, score < 0.5
		}
		return supervise.Conduct(agents, nil)
	}
	require.Equal(t, supervise.FleetWarning, one(0.2, 5).Status)
	require.Equal(t, supervise.FleetCritical, one(0.2, 10).Status)
	require.Equal(t, supervise.FleetNormal, one(0.95, 5).Status)
	require.Equal(t, supervise.FleetOptimal, one(0.95, 10).Status)
	require.Less(t, one(0.95, 5).AtLeast, *one(0.95, 5).Coherence)
}

func TestConduct_Recommendations(t *testing.T) {
	t.Parallel()
	agents := well(10, "a")
	agents[9].Phase, agents[0].Files, agents[1].Files, agents[2].Files = "b", []string{"go.mod", "go.mod"}, []string{"/x/workspace/go.mod"}, []string{"main.go"}
	agents[3].Ended = true
	var links []supervise.Link
	for i := range 4 {
		links = append(links, supervise.Link{A: 0, B: i + 1, Similarity: 0.9})
	}
	f := supervise.Conduct(agents, links)
	require.Equal(t, supervise.FleetInefficient, f.Status)
	require.Equal(t, []int{4, 1, 1}, []int{f.Duplicates, f.Ended, f.Coordination})
	said := strings.Join(f.Recommendations, "\n")
	for _, part := range []string{"task-0 and task-1 are alike by 0.90", "2 agents change go.mod", "9 of 10 agents are in a", "The work of 1 agents is done"} {
		require.Contains(t, said, part)
	}
	require.NotContains(t, said, "task-4", "the first three of a kind are enough")
	require.NotContains(t, said, "main.go")
}

// Without a model, the conductor shows facts with their evidence, and says why the rest is unknown.
func TestConduct_ConflictsNeedNoModel(t *testing.T) {
	t.Parallel()
	agents := well(4, "a")
	for i := range agents {
		agents[i].Known, agents[i].Silent, agents[i].Key, agents[i].Attempt = false, supervise.UnknownNoModel, fmt.Sprint("APP-", i), 2
	}
	agents[3].Silent = supervise.UnknownModelFailed
	clean := supervise.Conduct(agents, nil)
	require.Empty(t, clean.Conflicts)
	require.Zero(t, clean.Conflicting)

	agents[0].Files, agents[0].Edits = []string{"/x/workspace/go.mod"}, map[string]int64{"/x/workspace/go.mod": 7}
	agents[1].Files, agents[1].Edits = []string{"go.mod"}, map[string]int64{"go.mod": 9}
	agents[1].Waits = []supervise.Dependency{{TaskID: "task-9", Key: "APP-9", Status: "running"}}
	agents[2].Outside = []supervise.Finding{{Why: "docs/x.md is outside of src.", Evidence: []int64{4, 5}}}
	agents[2].Files, agents[2].ProjectID = []string{"go.mod"}, "other" // another repository has another file
	f := supervise.Conduct(agents, nil)
	require.Nil(t, f.Coherence)
	require.Equal(t, supervise.FleetUnknown, f.Status, "facts about some agents say nothing of the others")
	require.Equal(t, map[string]int{supervise.UnknownNoModel: 3, supervise.UnknownModelFailed: 1}, f.UnknownReasons)
	require.Equal(t, 3, f.Conflicting, "the task that is waited for has no active agent")
	require.Equal(t, 1, f.Coordination)
	want := []supervise.Conflict{
		{Kind: "open_dependency", Why: "APP-1 runs, and APP-9, which must be completed first, is running.", Evidence: []supervise.Proof{
			{TaskID: "task-1", TaskKey: "APP-1", Attempt: 2, Events: []int64{}}, {TaskID: "task-9", TaskKey: "APP-9", Events: []int64{}},
		}},
		{Kind: "outside_limits", Why: "APP-2: docs/x.md is outside of src.", Evidence: []supervise.Proof{{TaskID: "task-2", TaskKey: "APP-2", Attempt: 2, Events: []int64{4, 5}}}},
		{Kind: "same_file", Path: "go.mod", Why: "2 agents change go.mod at a time (APP-0, APP-1): their branches will meet there.", Evidence: []supervise.Proof{
			{TaskID: "task-0", TaskKey: "APP-0", Attempt: 2, Events: []int64{7}}, {TaskID: "task-1", TaskKey: "APP-1", Attempt: 2, Events: []int64{9}},
		}},
	}
	require.Equal(t, want, f.Conflicts)
	said := strings.Join(f.Recommendations, "\n")
	for _, c := range want {
		require.Contains(t, said, c.Why)
	}
	require.Contains(t, said, "3 without a model (rules find faults only), 1 whose model failed")
}
