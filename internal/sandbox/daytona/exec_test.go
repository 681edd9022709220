package daytona_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/daytona"
	"github.com/omoi-dev/omoi/internal/task"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// TestExec_LeavesMoreThanItKeeps checks that output which Exec discards is not downloaded.
func TestExec_LeavesMoreThanItKeeps(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p, labels := b.open(t), someLabels()
	_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	require.NoError(t, err)
	res, err := sandbox.Exec(t.Context(), p, labels, sandbox.Command{Args: []string{"sh", "-c", "head -c 32M /dev/zero; exit 7"}, Timeout: 5 * time.Minute})
	require.NoError(t, err)
	require.Equal(t, 7, res.ExitCode)
	require.Len(t, res.Stdout, sandbox.MaxExecOutput)
	require.Less(t, len(b.traces(t)), 8<<20)
	b.end(t, p, labels)
}

// TestAttach_TimeOfACommandBeginsWithIt checks that uploads before the start do not count for the timeout.
func TestAttach_TimeOfACommandBeginsWithIt(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p, labels := b.open(t), someLabels()
	_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	require.NoError(t, err)
	before := bytes.Count(b.traces(t), []byte("/exec {"))
	_, err = sandbox.Exec(t.Context(), p, labels, sandbox.Command{Args: []string{"true"}, Timeout: time.Nanosecond})
	code(t, task.CodeUnavailable, err)
	require.Equal(t, before+1, bytes.Count(b.traces(t), []byte("/exec {")), "it was started")
	b.end(t, p, labels)
}

// TestInspect_RefusalsOfEverythingAreUnknown checks that a server which rejects every route says nothing about one
// sandbox.
func TestInspect_RefusalsOfEverythingAreUnknown(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusConflict, http.StatusGone, http.StatusBadRequest} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(server.Close)
		p, err := daytona.New(daytona.Config{APIURL: server.URL, APIKey: "key"}, nil)
		require.NoError(t, err)
		seen, err := p.Inspect(t.Context(), someLabels())
		require.NoError(t, err)
		require.Equal(t, sandbox.StateUnknown, seen.State, status)
		err = p.Delete(t.Context(), someLabels())
		require.Contains(t, []task.Code{task.CodeUnavailable, task.CodeInvalid, task.CodeGone}, task.CodeOf(err), status)
	}
}
