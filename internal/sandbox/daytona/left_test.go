package daytona_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/daytona"
	"github.com/omoi-dev/omoi/internal/task"
	daytonatest "github.com/omoi-dev/omoi/internal/testkit/daytona"
)

// left lists the folders of commands in the sandbox, including that of its own command.
func left(t *testing.T, p *daytona.Provider, labels sandbox.Labels) []string {
	t.Helper()
	res, err := sandbox.Exec(t.Context(), p, labels, sandbox.Command{Args: []string{"sh", "-c", `ls -A "$OMOI_DIR/.ctl/exec" "$OMOI_DIR/.ctl/tmp"`}})
	require.NoError(t, err)
	var names []string
	for line := range strings.FieldsSeq(string(res.Stdout)) {
		if !strings.HasSuffix(line, ":") {
			names = append(names, line)
		}
	}
	return names
}

// TestCommandsLeaveNothing checks that output and environment of a command do not stay in the sandbox.
func TestCommandsLeaveNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t, daytonatest.Options{})
	p := b.open(t)
	_, labels := b.ensure(t, p)
	says := sandbox.Command{Args: []string{"sh", "-c", "echo said; echo no >&2; cat"}}
	hangs := sandbox.Command{Args: []string{"sh", "-c", "echo said; sleep 600"}, Timeout: time.Millisecond}
	streams := func() sandbox.Streams {
		return sandbox.Streams{Stdin: strings.NewReader("typed\n"), Stdout: io.Discard, Stderr: io.Discard}
	}
	run := func(ctx context.Context, cmd sandbox.Command) error {
		_, err := sandbox.Exec(ctx, p, labels, cmd)
		return err
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		what  string
		fault daytonatest.Fault
		run   func() error
		fails bool
	}{
		{"a command", daytonatest.Fault{}, func() error { return run(t.Context(), says) }, false},
		{"one that takes too long", daytonatest.Fault{}, func() error { return run(t.Context(), hangs) }, true},
		{"one that nobody waits for", daytonatest.Fault{}, func() error { return run(over, says) }, true},
		{"one that could not begin", refuses("/toolbox/*/process/session"), func() error { return run(t.Context(), says) }, true},
		{"one that is refused", refuses("/toolbox/*/process/session/*/exec"), func() error { return run(t.Context(), says) }, true},
		{"a person's", daytonatest.Fault{}, func() error { _, err := p.Attach(t.Context(), labels, says, streams()); return err }, false},
		{"a person's that takes too long", daytonatest.Fault{}, func() error { _, err := p.Attach(t.Context(), labels, hangs, streams()); return err }, true},
		{"a person's that could not begin", refuses("/toolbox/*/process/session/*/exec"), func() error { _, err := p.Attach(t.Context(), labels, says, streams()); return err }, true},
		{"one at a terminal", daytonatest.Fault{}, func() error {
			s := streams()
			s.Terminal = &sandbox.Terminal{Size: sandbox.Size{Rows: 20, Columns: 80}}
			_, err := p.Attach(t.Context(), labels, sandbox.Command{Args: []string{"echo", "said"}}, s)
			return err
		}, false},
	} {
		if c.fault.Switch != "" {
			b.server.Faults().Set(c.fault)
		}
		err := c.run()
		require.Equal(t, c.fails, err != nil, "%s: %v", c.what, err)
		require.NotEqual(t, task.CodeNotFound, task.CodeOf(err), c.what)
		require.Len(t, left(t, p, labels), 1, c.what)
	}
	b.end(t, p, labels)
}

// refuses returns a fault that makes the toolbox reject one call.
func refuses(path string) daytonatest.Fault {
	return daytonatest.Fault{Switch: daytonatest.Answer, Method: http.MethodPost, Path: path, Times: 1, Status: http.StatusBadRequest, Message: "no"}
}
