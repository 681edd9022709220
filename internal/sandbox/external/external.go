// Package external is the provider of agents that run somewhere else and connect by
// themselves: unchanged workers of the replaced system, tests, load.
//
// There is no machine: nothing to make, to delete or to verify, and List answers nothing.
// Whether such an agent lives is told by its heartbeats alone, so Inspect never says gone,
// neither of the sandbox (it is alive by definition, as long as its attempt is) nor of the
// agent (unknown). Callers that look at [sandbox.Capabilities] first do not ask.
package external

import (
	"context"
	"io"
	"time"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Name is the provider's word on the wire.
const Name = task.ProviderExternal

// Provider makes nothing. Its zero value is ready and safe for concurrent use.
type Provider struct{}

var _ sandbox.Provider = Provider{}

// New returns the provider.
func New() Provider { return Provider{} }

// Name is "external".
func (Provider) Name() string { return Name }

// Capabilities are none: no machine, no commands, no files.
func (Provider) Capabilities() sandbox.Capabilities { return sandbox.Capabilities{} }

// Paths answers the fixed places; nothing of ours is there.
func (Provider) Paths(sandbox.Labels) sandbox.Paths { return sandbox.DefaultPaths() }

// Ensure succeeds always: the sandbox is a name under which an agent may report. Adopted is
// always false, CreatedAt is now, and Arch is empty, since nobody knows it.
func (Provider) Ensure(_ context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	return sandbox.Sandbox{
		Labels: spec.Labels, ProviderID: task.SandboxName(spec.Labels.SandboxID),
		Isolation: []string{"none"}, CreatedAt: time.Now().UTC(),
	}, nil
}

// Inspect answers alive for the sandbox and unknown for its agent: heartbeats decide.
func (Provider) Inspect(context.Context, sandbox.Labels) (sandbox.Inspection, error) {
	return sandbox.Inspection{
		State: sandbox.StateAlive, Agent: sandbox.StateUnknown, ExitCode: -1,
		Reason: "an agent outside connects itself",
	}, nil
}

// Start does nothing: the agent starts itself.
func (Provider) Start(context.Context, sandbox.Labels, sandbox.Command) error { return nil }

// Stop does nothing: the agent is told by its messages, and events after the end are late.
func (Provider) Stop(context.Context, sandbox.Labels, time.Duration) error { return nil }

// Delete does nothing: there is nothing of ours.
func (Provider) Delete(context.Context, sandbox.Labels) error { return nil }

// List answers none.
func (Provider) List(context.Context, string) ([]sandbox.Sandbox, error) { return nil, nil }

// Exec answers [task.CodeInvalid]: there is no machine of ours.
func (Provider) Exec(context.Context, sandbox.Labels, sandbox.Command) (sandbox.ExecResult, error) {
	return sandbox.ExecResult{ExitCode: -1}, noMachine()
}

// WriteFile answers [task.CodeInvalid].
func (Provider) WriteFile(context.Context, sandbox.Labels, string, uint32, io.Reader) error {
	return noMachine()
}

// ReadFile answers [task.CodeInvalid].
func (Provider) ReadFile(context.Context, sandbox.Labels, string) (io.ReadCloser, error) {
	return nil, noMachine()
}

// Log answers [task.CodeInvalid].
func (Provider) Log(context.Context, sandbox.Labels, int64) (io.ReadCloser, error) {
	return nil, noMachine()
}

func noMachine() error {
	return task.Errorf(task.CodeInvalid, "an external sandbox has no commands, files or log: its agent runs elsewhere")
}
