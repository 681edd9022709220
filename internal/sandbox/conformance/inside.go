package conformance

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

func execAnswers(s *suite, t T) {
	labels := s.ensure(t)
	cmd := shell(`read -r line; echo "out $line $WISH"; echo err >&2; pwd; exit 11`)
	cmd.Stdin, cmd.Env, cmd.Dir = strings.NewReader("in\n"), map[string]string{"WISH": "granted"}, sandbox.Home
	res, err := sandbox.Exec(t.Context(), s.p, labels, cmd)
	require.NoError(t, err)
	require.Equal(t, 11, res.ExitCode)
	require.Equal(t, "out in granted\n"+s.p.Paths(labels).Home+"\n", string(res.Stdout))
	require.Equal(t, "err\n", string(res.Stderr))

	_, err = sandbox.Exec(t.Context(), s.p, labels, sandbox.Command{})
	code(t, task.CodeInvalid, err)
	_, err = sandbox.Exec(t.Context(), s.p, s.newLabels(), shell("true"))
	code(t, task.CodeNotFound, err)
	res, err = sandbox.Exec(t.Context(), s.p, labels, sandbox.Command{Args: []string{"no-such-program"}})
	require.True(t, err != nil || res.ExitCode != 0, "a program that is not there is no success")

	s.write(t, labels, "/workspace/file", "by path")
	res, err = sandbox.Exec(t.Context(), s.p, labels, sandbox.Command{Args: []string{"cat", "/workspace/file"}})
	require.NoError(t, err)
	require.Equal(t, "by path", string(res.Stdout), "a whole argument may be a place inside")
}

func execBounded(s *suite, t T) {
	labels := s.ensure(t)
	res := s.sh(t, labels, "head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2; exit 6")
	require.Equal(t, 6, res.ExitCode, "a command that says too much is not held up")
	require.Len(t, res.Stdout, sandbox.MaxExecOutput)
	require.Len(t, res.Stderr, sandbox.MaxExecOutput)
}

func execEndsInTime(s *suite, t T) {
	tag, labels := s.tagged(t), s.ensure(t)
	cmd := shell("echo early; " + tree(tag, "sleep 600"))
	cmd.Timeout = time.Second
	res, err := sandbox.Exec(t.Context(), s.p, labels, cmd)
	code(t, task.CodeUnavailable, err)
	require.Contains(t, string(res.Stdout), "early")
	require.False(t, s.seenRunning(tag))
	s.sh(t, labels, tree(tag, "exit 0"))
	require.False(t, s.seenRunning(tag), "what a command leaves behind ends with it")
}

func execCancelled(s *suite, t T) {
	tag, labels := s.tagged(t), s.ensure(t)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		_, err := sandbox.Exec(ctx, s.p, labels, shell(tree(tag, "sleep 600")))
		over <- err
	}()
	s.eventually(t, "the command runs", func() bool { return s.seenRunning(tag) })
	cancel()
	require.ErrorIs(t, <-over, context.Canceled)
	require.False(t, s.seenRunning(tag), "all that it began ends with it")
}

func execBesideAndAfter(s *suite, t T) {
	labels := s.start(t, "echo mine > mine; echo up; while [ ! -e go ]; do sleep 0.01; done")
	s.says(t, labels, "up")
	require.Equal(t, "mine\n", string(s.sh(t, labels, "cat mine; touch go").Stdout))
	s.ended(t, labels)
	require.Equal(t, "mine\n", string(s.sh(t, labels, "cat mine").Stdout))
}

func deleteEndsExec(s *suite, t T) {
	tag, labels := s.tagged(t), s.ensure(t)
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = sandbox.Exec(t.Context(), s.p, labels, shell("sleep "+tag)) // it is ended, with whatever answer
	}()
	s.eventually(t, "the command runs", func() bool { return s.seenRunning(tag) })
	require.NoError(t, s.p.Delete(t.Context(), labels))
	require.False(t, s.seenRunning(tag))
	<-over
	_, err := sandbox.Exec(t.Context(), s.p, labels, shell("true"))
	code(t, task.CodeNotFound, err)
}

func filesRoundTrip(s *suite, t T) {
	labels := s.ensure(t)
	large := bytes.Repeat([]byte("0123456789abcdef"), 5<<16)
	require.NoError(t, s.p.WriteFile(t.Context(), labels, "/omoi/deep/down/large", 0o600, bytes.NewReader(large)))
	require.Equal(t, string(large), s.read(t, labels, "/omoi/deep/down/large"))
	s.write(t, labels, "/omoi/deep/down/large", "small now")
	require.Equal(t, "small now", s.read(t, labels, "/omoi/deep/down/large"), "replaced as a whole")

	for _, dir := range []string{sandbox.Dir, sandbox.Workspace, sandbox.Home} {
		require.NoError(t, s.p.WriteFile(t.Context(), labels, dir+"/tool", 0o750, strings.NewReader("#!/bin/sh\necho \"${0##*/}\"\n")))
	}
	require.Equal(t, strings.Repeat("tool\n", 3), string(s.sh(t, labels, `"$OMOI_DIR/tool"; ./tool; "$HOME/tool"`).Stdout))
	require.Equal(t, "750\n", string(s.sh(t, labels, "stat -c %a tool").Stdout))
	require.Zero(t, s.sh(t, labels, `rm "$OMOI_DIR/deep/down/large" && touch "$OMOI_DIR/deep/new"`).ExitCode, "folders belong to the sandbox")

	s.sh(t, labels, "printf inside > made")
	require.Equal(t, "inside", s.read(t, labels, "/workspace/made"))
	require.Equal(t, "inside", s.read(t, labels, s.p.Paths(labels).Workspace+"/made"), "by the path that the inside sees")
}

func filesRefused(s *suite, t T) {
	labels := s.ensure(t)
	for _, path := range []string{"", "/", "/etc/passwd", "workspace/x", "/workspace", "/workspace/../etc/passwd", "/workspacex/y", "/omoi/../../x"} {
		code(t, task.CodeInvalid, s.p.WriteFile(t.Context(), labels, path, 0o644, strings.NewReader("x")))
		_, err := s.p.ReadFile(t.Context(), labels, path)
		code(t, task.CodeInvalid, err)
	}
	_, err := s.p.ReadFile(t.Context(), labels, "/workspace/none")
	code(t, task.CodeNotFound, err)
	code(t, task.CodeNotFound, s.p.WriteFile(t.Context(), s.newLabels(), "/workspace/x", 0o644, strings.NewReader("x")))
	for _, failure := range []error{io.ErrUnexpectedEOF, syscall.EPERM, syscall.EDQUOT, fs.ErrNotExist, fs.ErrPermission} {
		broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(failure))
		err = s.p.WriteFile(t.Context(), labels, "/workspace/half", 0o644, broken)
		require.ErrorIs(t, err, failure)
		require.Contains(t, []task.Code{task.CodeInternal, task.CodeUnavailable}, task.CodeOf(err), "what is given cannot be read, which is not the sandbox's fault")
	}
	require.Empty(t, string(s.sh(t, labels, "ls -A").Stdout), "nothing half-written")
}

func filesHostile(s *suite, t T) {
	labels := s.ensure(t)
	res := s.sh(t, labels, `ln -s /etc/passwd out; ln -s /etc dirout; ln -s loop loop; mkfifo pipe; mkdir folder
		ln -s ../../../../../../etc/passwd up; ln -s folder indir; echo fine > folder/file; echo old > victim; ln -s victim inlink`)
	require.Zero(t, res.ExitCode, string(res.Stderr))
	for _, path := range []string{"out", "dirout/passwd", "loop", "pipe", "folder", "up"} {
		_, err := s.p.ReadFile(t.Context(), labels, "/workspace/"+path)
		code(t, task.CodeInvalid, err)
	}
	require.Equal(t, "fine\n", s.read(t, labels, "/workspace/indir/file"))
	code(t, task.CodeInvalid, s.p.WriteFile(t.Context(), labels, "/workspace/dirout/omoi-planted", 0o644, strings.NewReader("x")))
	code(t, task.CodeInvalid, s.p.WriteFile(t.Context(), labels, "/workspace/folder", 0o644, strings.NewReader("x")))
	s.write(t, labels, "/workspace/inlink", "new")
	require.Equal(t, "old\n", s.read(t, labels, "/workspace/victim"), "a link is replaced, not followed")
	s.write(t, labels, "/workspace/pipe", "no pipe now")
	require.Equal(t, "no pipe now", s.read(t, labels, "/workspace/pipe"))
}

func memoryLimit(s *suite, t T) {
	labels := s.newLabels()
	box, err := s.p.Ensure(t.Context(), sandbox.Spec{Labels: labels, Limits: sandbox.Limits{MemoryBytes: 64 << 20}})
	require.NoError(t, err)
	need(t, slices.Contains(box.Isolation, "cgroup-memory"), "limit memory")
	require.NoError(t, s.p.Start(t.Context(), labels, shell(`awk 'BEGIN { x = "0123456789abcdef"; while (length(x) < 400000000) x = x x; print length(x) }'; echo "code $?"`)))
	seen := s.ended(t, labels)
	require.True(t, seen.OOM)
	require.NotContains(t, s.log(t, labels, 0), "code 0")
}

func processLimit(s *suite, t T) {
	labels := s.newLabels()
	box, err := s.p.Ensure(t.Context(), sandbox.Spec{Labels: labels, Limits: sandbox.Limits{Processes: 20}})
	require.NoError(t, err)
	need(t, slices.Contains(box.Isolation, "cgroup-pids"), "limit processes by a control group")
	require.NoError(t, s.p.Start(t.Context(), labels, shell(`i=0; while [ $i -lt 60 ]; do sleep 600 & i=$((i+1)); done; echo all of them`)))
	s.eventually(t, "a fork is refused", func() bool {
		text := strings.ToLower(s.log(t, labels, 0))
		return strings.Contains(text, "fork") || strings.Contains(text, "resource")
	})
	require.NotContains(t, s.log(t, labels, 0), "all of them")
}
