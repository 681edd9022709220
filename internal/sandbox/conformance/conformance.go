// Package conformance holds every sandbox provider to the promises of [sandbox.Provider]. A
// provider's tests call [Run] with a factory; [Check] does the same for an operator, outside
// of go test, with what can be done there.
package conformance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// PlantedEnv is a variable that the caller of [Run] sets in its own environment, to any
// value: nothing inside a sandbox may see it.
const PlantedEnv = "OMOI_CONFORMANCE_PLANTED"

// T is what a check needs of the test that it runs in. [*testing.T] is one.
type T interface {
	require.TestingT

	Context() context.Context
	Skip(args ...any)
}

const (
	patience = 30 * time.Second      // for a fact that must come
	tick     = 10 * time.Millisecond // between looks
)

// suite is one check at its place.
type suite struct {
	Bed
	p sandbox.Provider // the value in use: the place's, or a reopened one

	installation, another string // labels of what it makes

	mu   sync.Mutex
	made []sandbox.Labels // all that were ever named
}

func (s *suite) newLabels() sandbox.Labels {
	labels := sandbox.Labels{Installation: s.installation, TaskID: task.NewID(), Attempt: 1, SandboxID: task.NewSandboxID()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = append(s.made, labels)
	return labels
}

// ensure makes a sandbox with new labels.
func (s *suite) ensure(t T) sandbox.Labels {
	labels := s.newLabels()
	_, err := s.p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	require.NoError(t, err)
	return labels
}

// start makes a sandbox and starts a shell script in it.
func (s *suite) start(t T, script string) sandbox.Labels {
	labels := s.ensure(t)
	require.NoError(t, s.p.Start(t.Context(), labels, shell(script)))
	return labels
}

func shell(script string) sandbox.Command {
	return sandbox.Command{Args: []string{"sh", "-c", script}}
}

func (s *suite) inspect(t T, labels sandbox.Labels) sandbox.Inspection {
	seen, err := s.p.Inspect(t.Context(), labels)
	require.NoError(t, err)
	return seen
}

// sees looks, and requires these states of the sandbox and of its agent.
func (s *suite) sees(t T, labels sandbox.Labels, box, agent sandbox.State) sandbox.Inspection {
	seen := s.inspect(t, labels)
	require.Equal(t, []sandbox.State{box, agent}, []sandbox.State{seen.State, seen.Agent}, "the sandbox and its agent")
	return seen
}

// ended waits for the end of the started command.
func (s *suite) ended(t T, labels sandbox.Labels) sandbox.Inspection {
	var seen sandbox.Inspection
	s.eventually(t, "the command ends", func() bool {
		seen = s.inspect(t, labels)
		return seen.Agent == sandbox.StateGone
	})
	return seen
}

func (s *suite) log(t T, labels sandbox.Labels, offset int64) string {
	r, err := s.p.Log(t.Context(), labels, offset)
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, errors.Join(err, r.Close()))
	return string(text)
}

// says waits until the log holds text.
func (s *suite) says(t T, labels sandbox.Labels, text string) {
	s.eventually(t, "the log says "+text, func() bool { return strings.Contains(s.log(t, labels, 0), text) })
}

func (s *suite) eventually(t T, what string, fact func() bool) {
	for deadline := time.Now().Add(patience); !fact(); {
		if t.Context().Err() != nil || time.Now().After(deadline) {
			require.FailNow(t, "it never came true that "+what)
		}
		_ = wait.For(t.Context(), tick) // the next look sees its end
	}
}

func (s *suite) sh(t T, labels sandbox.Labels, script string) sandbox.ExecResult {
	res, err := sandbox.Exec(t.Context(), s.p, labels, shell(script))
	require.NoError(t, err)
	return res
}

func (s *suite) write(t T, labels sandbox.Labels, path, text string) {
	require.NoError(t, s.p.WriteFile(t.Context(), labels, path, 0o644, strings.NewReader(text)))
}

func (s *suite) read(t T, labels sandbox.Labels, path string) string {
	r, err := s.p.ReadFile(t.Context(), labels, path)
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, errors.Join(err, r.Close()))
	return string(text)
}

// seenRunning reports whether a process of the host has tag in its command line.
func (s *suite) seenRunning(tag string) bool {
	return slices.ContainsFunc(s.CommandLines(), func(line string) bool { return strings.Contains(line, tag) })
}

// tagged is a number of seconds that no other process sleeps for, where those of the host can be seen.
func (s *suite) tagged(t T) string {
	need(t, s.CommandLines != nil, "see the host's processes")
	digits := bytes.Map(func(r rune) rune { return '0' + r%10 }, []byte(task.NewSandboxID()))
	return "9999." + string(digits)
}

func code(t T, want task.Code, err error) {
	require.Error(t, err)
	require.Equal(t, want, task.CodeOf(err), err.Error())
}

func need(t T, there bool, what string) {
	if !there {
		t.Skip("SKIPPED: there is no way here to " + what)
	}
}

// named is one promise and the check of it.
type named struct {
	name  string
	check func(s *suite, t T)
}

// all are the promises, in the order in which they are shown.
func all() []named {
	return []named{
		{"EnsureTwiceIsOne", ensureTwice},
		{"AdoptAfterLostAnswer", adoptAfterLostAnswer},
		{"ForeignLabelsTouchNothing", foreignLabels},
		{"BadSpecRefused", badSpec},
		{"InspectGoneAndAlive", inspectStates},
		{"InspectUnknown", inspectUnknown},
		{"ListByInstallation", listByInstallation},
		{"StartTwiceIsOnce", startTwice},
		{"Environment", environment},
		{"LogFromTheStart", logFromTheStart},
		{"StopAsksFirst", stopAsks},
		{"StopForces", stopForces},
		{"AdoptFromDeadWorker", adoptFromDeadWorker},
		{"KillFromOutsideSeen", killFromOutside},
		{"OrphansDieWithTheCommand", orphansDie},
		{"StopEndsTheTree", stopEndsTree},
		{"DeleteEndsTheTree", deleteEndsTree},
		{"FreezeStopsAll", freezeStopsAll},
		{"FrozenHearsStop", frozenHearsStop},
		{"FrozenIsDeleted", frozenIsDeleted},
		{"SecretsInvisible", secretsInvisible},
		{"ExecAnswers", execAnswers},
		{"ExecIsBounded", execBounded},
		{"ExecEndsInTime", execEndsInTime},
		{"ExecCancelled", execCancelled},
		{"ExecBesideAndAfter", execBesideAndAfter},
		{"DeleteEndsExec", deleteEndsExec},
		{"AttachCarriesStreams", attachCarriesStreams},
		{"AttachGivesATerminal", attachGivesTerminal},
		{"FilesRoundTrip", filesRoundTrip},
		{"FilesRefused", filesRefused},
		{"FilesOfHostileTree", filesHostile},
		{"DeleteTwice", deleteTwice},
		{"DeleteFences", deleteFences},
		{"DeleteWhileCreating", deleteWhileCreating},
		{"DeleteWhileStarting", deleteWhileStarting},
		{"DeleteHostileTree", deleteHostileTree},
		{"MemoryLimit", memoryLimit},
		{"ProcessLimit", processLimit},
	}
}

// Bed is a place of its own to test in, empty at first. A hook that is nil skips, loudly,
// what needs it.
type Bed struct {
	Provider sandbox.Provider
	// Installations are the labels of all that is made, for beds that share a place. Empty:
	// "conformance" and "another".
	Installations [2]string
	// Reopen makes a new value over the same place: what a restarted worker has.
	Reopen func() sandbox.Provider
	// Orphan lets another process ensure the sandbox and start cmd, and kills that process
	// with SIGKILL once Start has returned.
	Orphan func(spec sandbox.Spec, cmd sandbox.Command)
	// Kill ends what keeps the sandbox's command running, behind the provider's back.
	Kill func(labels sandbox.Labels)
	// Break makes the provider impossible to ask until the end of the test.
	Break func()
	// CommandLines are those of all processes that any user of the host can see.
	CommandLines func() []string
	// Traces is all that the provider keeps about its sandboxes, but for the files inside.
	Traces func() []byte
	// Late leaves the next create without an answer: what it makes appears so much later by the provider's own time. The
	// answer tells whether it was asked for.
	Late func(by time.Duration) (asked func() bool)
	// Pass lets time of the provider pass.
	Pass func(d time.Duration)
}

// Factory makes a bed and removes what is left of it with t.Cleanup.
type Factory func(t *testing.T) Bed

// Run runs the whole suite. Its tests are parallel, each in a bed of its own.
func Run(t *testing.T, factory Factory) {
	t.Helper()
	for _, one := range all() {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			bed := factory(t)
			names := cmp.Or(bed.Installations, [2]string{"conformance", "another"})
			one.check(&suite{Bed: bed, p: bed.Provider, installation: names[0], another: names[1]}, t)
		})
	}
}
