// Package conformance holds every sandbox provider to the promises of [sandbox.Provider].
// It is test support: a provider's tests call [Run] with a factory.
package conformance

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Bed is a place of its own to test in, empty at first. A hook that is nil skips, loudly,
// what needs it.
type Bed struct {
	Provider sandbox.Provider
	// Reopen makes a new value over the same place: what a restarted worker has.
	Reopen func(t *testing.T) sandbox.Provider
	// Orphan lets another process ensure the sandbox and start cmd, and kills that process
	// with SIGKILL once Start has returned.
	Orphan func(t *testing.T, spec sandbox.Spec, cmd sandbox.Command)
	// Kill ends what keeps the sandbox's command running, behind the provider's back.
	Kill func(t *testing.T, labels sandbox.Labels)
	// Break makes the provider impossible to ask until the end of the test.
	Break func(t *testing.T)
	// CommandLines are those of all processes that any user of the host can see.
	CommandLines func(t *testing.T) []string
	// Traces is all that the provider keeps about its sandboxes, but for the files inside.
	Traces func(t *testing.T) []byte
}

// Factory makes a bed and removes what is left of it with t.Cleanup.
type Factory func(t *testing.T) Bed

// PlantedEnv is a variable that the caller of [Run] sets in its own environment, to any
// value: nothing inside a sandbox may see it.
const PlantedEnv = "OMOI_CONFORMANCE_PLANTED"

const (
	patience = 30 * time.Second      // for a fact that must come
	tick     = 10 * time.Millisecond // between looks
)

// Run runs the whole suite. Its tests are parallel, each in a bed of its own.
func Run(t *testing.T, factory Factory) {
	t.Helper()
	for _, one := range []struct {
		name string
		test func(s *suite)
	}{
		{"EnsureTwiceIsOne", ensureTwice},
		{"AdoptAfterLostAnswer", adoptAfterLostAnswer},
		{"ForeignLabelsRefused", foreignLabels},
		{"ForeignLabelsTouchNothing", foreignLabelsTouchNothing},
		{"BadSpecRefused", badSpec},
		{"InspectGoneAndAlive", inspectStates},
		{"InspectUnknown", inspectUnknown},
		{"ListByInstallation", listByInstallation},
		{"StartTwiceIsOnce", startTwice},
		{"StartAfterTheEndIsOnce", startAfterEnd},
		{"Environment", environment},
		{"LogFromTheStart", logFromTheStart},
		{"LogAfterReconnect", logAfterReconnect},
		{"StopAsksFirst", stopAsks},
		{"StopForces", stopForces},
		{"AdoptFromDeadWorker", adoptFromDeadWorker},
		{"KillFromOutsideSeen", killFromOutside},
		{"OrphansDieWithTheCommand", orphansDie},
		{"StopEndsTheTree", stopEndsTree},
		{"DeleteEndsTheTree", deleteEndsTree},
		{"SecretsInvisible", secretsInvisible},
		{"ExecAnswers", execAnswers},
		{"ExecIsBounded", execBounded},
		{"ExecEndsInTime", execEndsInTime},
		{"ExecCancelled", execCancelled},
		{"ExecBesideAndAfter", execBesideAndAfter},
		{"DeleteEndsExec", deleteEndsExec},
		{"FilesRoundTrip", filesRoundTrip},
		{"FilesRefused", filesRefused},
		{"FilesOfHostileTree", filesHostile},
		{"DeleteTwice", deleteTwice},
		{"DeleteFences", deleteFences},
		{"DeleteBeforeCreate", deleteBeforeCreate},
		{"DeleteWhileCreating", deleteWhileCreating},
		{"DeleteWhileStarting", deleteWhileStarting},
		{"DeleteHostileTree", deleteHostileTree},
		{"MemoryLimit", memoryLimit},
		{"ProcessLimit", processLimit},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			bed := factory(t)
			one.test(&suite{Bed: bed, p: bed.Provider, t: t})
		})
	}
}

// suite is one test in its bed.
type suite struct {
	Bed
	p sandbox.Provider // the value in use: the bed's, or a reopened one
	t *testing.T
}

func newLabels() sandbox.Labels {
	return sandbox.Labels{Installation: "conformance", TaskID: task.NewID(), Attempt: 1, SandboxID: task.NewSandboxID()}
}

// ensure makes a sandbox with new labels.
func (s *suite) ensure(t *testing.T) sandbox.Labels {
	t.Helper()
	labels := newLabels()
	_, err := s.p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	require.NoError(t, err)
	return labels
}

// start makes a sandbox and starts a shell script in it.
func (s *suite) start(t *testing.T, script string) sandbox.Labels {
	t.Helper()
	labels := s.ensure(t)
	require.NoError(t, s.p.Start(t.Context(), labels, shell(script)))
	return labels
}

func shell(script string) sandbox.Command {
	return sandbox.Command{Args: []string{"sh", "-c", script}}
}

func (s *suite) inspect(t *testing.T, labels sandbox.Labels) sandbox.Inspection {
	t.Helper()
	seen, err := s.p.Inspect(t.Context(), labels)
	require.NoError(t, err)
	return seen
}

// ended waits for the end of the started command.
func (s *suite) ended(t *testing.T, labels sandbox.Labels) sandbox.Inspection {
	t.Helper()
	var seen sandbox.Inspection
	s.eventually(t, "the command ends", func() bool {
		seen = s.inspect(t, labels)
		return seen.Agent == sandbox.StateGone
	})
	return seen
}

func (s *suite) log(t *testing.T, labels sandbox.Labels, offset int64) string {
	t.Helper()
	r, err := s.p.Log(t.Context(), labels, offset)
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, errors.Join(err, r.Close()))
	return string(text)
}

// says waits until the log holds text.
func (s *suite) says(t *testing.T, labels sandbox.Labels, text string) {
	t.Helper()
	s.eventually(t, "the log says "+text, func() bool { return strings.Contains(s.log(t, labels, 0), text) })
}

func (s *suite) eventually(t *testing.T, what string, fact func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !fact(); {
		if time.Now().After(deadline) {
			t.Fatalf("it never came true that %s", what)
		}
		wait(t.Context(), tick)
	}
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (s *suite) sh(t *testing.T, labels sandbox.Labels, script string) sandbox.ExecResult {
	t.Helper()
	res, err := s.p.Exec(t.Context(), labels, shell(script))
	require.NoError(t, err)
	return res
}

func (s *suite) write(t *testing.T, labels sandbox.Labels, path, text string) {
	t.Helper()
	require.NoError(t, s.p.WriteFile(t.Context(), labels, path, 0o644, strings.NewReader(text)))
}

func (s *suite) read(t *testing.T, labels sandbox.Labels, path string) string {
	t.Helper()
	r, err := s.p.ReadFile(t.Context(), labels, path)
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, errors.Join(err, r.Close()))
	return string(text)
}

// seenRunning reports whether a process of the host has tag in its command line.
func (s *suite) seenRunning(t *testing.T, tag string) bool {
	t.Helper()
	return slices.ContainsFunc(s.CommandLines(t), func(line string) bool { return strings.Contains(line, tag) })
}

// tagged is a number of seconds that no other process sleeps for.
func tagged() string {
	digits := bytes.Map(func(r rune) rune { return '0' + r%10 }, []byte(task.NewSandboxID()))
	return "9999." + string(digits)
}

func code(t *testing.T, want task.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, task.CodeOf(err), err.Error())
}

func need(t *testing.T, there bool, what string) {
	t.Helper()
	if !there {
		t.Skip("SKIPPED: this provider's tests have no way to " + what)
	}
}
