package conformance

import (
	"bytes"
	"io"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

func attachCarriesStreams(s *suite, t T) {
	labels := s.start(t, "echo mine > mine; echo up; sleep 600")
	s.says(t, labels, "up")
	var out, complaints bytes.Buffer
	cmd := shell(`read -r line; cat mine; echo "got $line"; head -c 2000000 /dev/zero; echo no >&2; exit 7`)
	cmd.Timeout = 2 * patience
	ended, err := s.p.Attach(t.Context(), labels, cmd, sandbox.Streams{Stdin: strings.NewReader("this\n"), Stdout: &out, Stderr: &complaints})
	require.NoError(t, err)
	require.Equal(t, 7, ended)
	require.Equal(t, len("mine\ngot this\n")+2_000_000, out.Len(), "it is not cut")
	require.Equal(t, "no\n", complaints.String())

	streams := sandbox.Streams{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &complaints}
	_, err = s.p.Attach(t.Context(), s.newLabels(), cmd, streams)
	code(t, task.CodeNotFound, err)
	_, err = s.p.Attach(t.Context(), labels, sandbox.Command{}, streams)
	code(t, task.CodeInvalid, err)
}

// attachGivesTerminal types at a shell: Ctrl-C ends what runs in it, and not the shell.
func attachGivesTerminal(s *suite, t T) {
	labels := s.ensure(t)
	keys, typed := io.Pipe()
	shown, resized := &sandbox.Output{}, make(chan sandbox.Size, 1)
	ended, cmd := make(chan int, 1), sandbox.Command{Args: sandbox.ShellArgs(), Env: map[string]string{"TERM": "xterm"}, Timeout: 4 * patience}
	go func() {
		code, _ := s.p.Attach(t.Context(), labels, cmd, sandbox.Streams{
			Stdin: keys, Stdout: shown, Terminal: &sandbox.Terminal{Size: sandbox.Size{Rows: 33, Columns: 77}, Resized: resized},
		})
		ended <- code
	}()
	press := func(keys string) {
		_, err := typed.Write([]byte(keys))
		require.NoError(t, err)
	}
	for _, step := range []struct{ typed, shows string }{
		{"stty size; echo rea''dy in $PWD\n", "ready in " + s.p.Paths(labels).Workspace},
		{"echo be''gun; sleep 600; echo int''errupted\n", "begun"},
	} {
		press(step.typed)
		s.eventually(t, step.shows+" is shown", func() bool { return strings.Contains(string(shown.Bytes()), step.shows) })
	}
	// A shell that has not begun the sleep yet forgets a Ctrl-C, and each throws away what was typed and not read yet:
	// as a person does, it is pressed again where no answer comes, and waited longer for.
	patient := 5 * tick
	s.eventually(t, "Ctrl-C ends the sleep and not the shell", func() bool {
		for _, keys := range []string{"\x03", "echo st''ill here\n"} {
			press(keys)
			_ = wait.For(t.Context(), patient)
		}
		patient *= 2
		return strings.Contains(string(shown.Bytes()), "still here")
	})
	require.Contains(t, string(shown.Bytes()), "^C")
	require.Contains(t, string(shown.Bytes()), "33 77")
	require.NotContains(t, string(shown.Bytes()), "interrupted")
	resized <- sandbox.Size{Rows: 44, Columns: 88}
	s.eventually(t, "the terminal has its new size", func() bool {
		press("stty size\n")
		_ = wait.For(t.Context(), 10*tick)
		return strings.Contains(string(shown.Bytes()), "44 88")
	})
	press("exit 3\n")
	select {
	case code := <-ended:
		require.Equal(t, 3, code)
	case <-time.After(patience):
		require.FailNow(t, "the shell did not end", string(shown.Bytes()))
	}
	require.NoError(t, typed.Close())
}
