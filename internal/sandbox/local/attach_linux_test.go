package local_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/local"
	"github.com/omoi-dev/omoi/internal/task"
)

// box makes a sandbox that is deleted after the test.
func box(t *testing.T, isolation local.Isolation) (*local.Provider, sandbox.Labels) {
	t.Helper()
	cfg := local.Config{Root: newRoot(t), Isolation: isolation}
	p := open(t, cfg)
	t.Cleanup(func() { sweep(t, cfg) })
	labels := sandbox.Labels{Installation: "conformance", TaskID: task.NewID(), Attempt: 1, SandboxID: task.NewSandboxID()}
	_, err := p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	require.NoError(t, err)
	return p, labels
}

func TestAttachCarriesStreams(t *testing.T) {
	t.Parallel()
	p, labels := box(t, local.IsolationAuto)
	var out, complaints bytes.Buffer
	code, err := p.Attach(t.Context(), labels, sandbox.Command{
		Args: []string{"sh", "-c", `read -r line; echo "got $line"; head -c 2000000 /dev/zero; echo no >&2; exit 7`}, Timeout: time.Minute,
	}, sandbox.Streams{Stdin: strings.NewReader("this\n"), Stdout: &out, Stderr: &complaints})
	require.NoError(t, err)
	require.Equal(t, 7, code)
	require.Equal(t, len("got this\n")+2_000_000, out.Len(), "it is not cut")
	require.Equal(t, "no\n", complaints.String())
}

// A person's keys reach what runs in the foreground inside, Ctrl-C too.
func TestAttachGivesATerminal(t *testing.T) {
	t.Parallel()
	p, labels := box(t, local.IsolationAuto)
	keys, typed := io.Pipe()
	shown := &screen{seen: make(chan string, 100)}
	ended := make(chan int, 1)
	go func() {
		code, err := p.Attach(t.Context(), labels, sandbox.Command{Args: sandbox.ShellArgs(), Timeout: time.Minute},
			sandbox.Streams{Stdin: keys, Stdout: shown, Terminal: &sandbox.Terminal{Size: sandbox.Size{Rows: 33, Columns: 77}}})
		t.Log("the shell ended", code, err)
		ended <- code
	}()
	for _, step := range []struct{ typed, shows string }{
		{"stty size; echo rea''dy\n", "33 77"},
		{"sleep 600; echo int''errupted\n\x03", "^C"},
		{"echo st''ill here\n", "still here"},
	} {
		_, err := typed.Write([]byte(step.typed))
		require.NoError(t, err)
		shown.await(t, step.shows)
	}
	_, err := typed.Write([]byte("exit 3\n"))
	require.NoError(t, err)
	require.Equal(t, 3, <-ended)
	require.NoError(t, typed.Close())
}

// screen remembers what was shown.
type screen struct {
	seen chan string
	all  strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.seen <- string(p)
	return len(p), nil
}

func (s *screen) await(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for !strings.Contains(s.all.String(), text) {
		select {
		case more := <-s.seen:
			s.all.WriteString(more)
		case <-deadline:
			t.Fatalf("%q was not shown: %q", text, s.all.String())
		}
	}
}
