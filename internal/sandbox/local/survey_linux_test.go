package local_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestSurvey_AllInstallations(t *testing.T) {
	t.Parallel()
	cfg := local.Config{Root: newRoot(t), Isolation: local.IsolationNone}
	p := open(t, cfg)
	t.Cleanup(func() { sweep(t, cfg) })
	var want, got []sandbox.Labels
	for _, installation := range []string{"conformance", "another"} {
		labels := sandbox.Labels{Installation: installation, TaskID: task.NewID(), Attempt: 1, SandboxID: task.NewSandboxID()}
		_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
		require.NoError(t, err)
		want = append(want, labels)
	}
	listed, err := p.Survey(t.Context())
	require.NoError(t, err)
	for _, box := range listed {
		got = append(got, box.Labels)
	}
	require.ElementsMatch(t, want, got)
}
