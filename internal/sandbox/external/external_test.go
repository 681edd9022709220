package external_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/external"
	"github.com/omoi-dev/omoi/internal/task"
)

func TestHeartbeatsAloneDecide(t *testing.T) {
	t.Parallel()
	p := external.New()
	labels := sandbox.Labels{Installation: "i", TaskID: task.NewID(), Attempt: 1, SandboxID: task.NewSandboxID()}
	require.Equal(t, sandbox.Capabilities{}, p.Capabilities(), "no machine, no commands, nothing to fence")

	box, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	require.NoError(t, err)
	require.Equal(t, labels, box.Labels)
	require.Equal(t, task.SandboxName(labels.SandboxID), box.ProviderID)
	require.NoError(t, p.Start(t.Context(), labels, sandbox.Command{}))
	require.NoError(t, p.Stop(t.Context(), labels, time.Second))
	require.NoError(t, p.Delete(t.Context(), labels))

	seen, err := p.Inspect(t.Context(), labels)
	require.NoError(t, err)
	require.Equal(t, sandbox.StateAlive, seen.State, "never gone: the provider has nothing to say against the agent")
	require.Equal(t, sandbox.StateUnknown, seen.Agent)
	listed, err := p.List(t.Context(), "i")
	require.NoError(t, err)
	require.Empty(t, listed)
}

func TestNoMachine(t *testing.T) {
	t.Parallel()
	p := external.New()
	_, err := p.Exec(t.Context(), sandbox.Labels{}, sandbox.Command{})
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
	require.Equal(t, task.CodeInvalid, task.CodeOf(p.WriteFile(t.Context(), sandbox.Labels{}, "/omoi/x", 0, strings.NewReader(""))))
	_, err = p.ReadFile(t.Context(), sandbox.Labels{}, "/omoi/x")
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
	_, err = p.Log(t.Context(), sandbox.Labels{}, 0)
	require.Equal(t, task.CodeInvalid, task.CodeOf(err))
}
