package conformance

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

func startTwice(s *suite, t T) {
	labels := s.ensure(t)
	others := []sandbox.Provider{s.p, s.p}
	if s.Reopen != nil {
		others[1] = s.Reopen()
	}
	errs := make([]error, 8)
	together(len(errs), func(i int) {
		errs[i] = others[i%2].Start(t.Context(), labels, shell("echo run >> runs; echo up; sleep 600"))
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	s.says(t, labels, "up")
	require.NoError(t, s.p.Stop(t.Context(), labels, time.Second))
	require.Equal(t, "run\n", s.read(t, labels, "/workspace/runs"))
}

func environment(s *suite, t T) {
	require.NotEmpty(t, os.Getenv(PlantedEnv), "the caller of Run plants a variable")
	labels := s.ensure(t)
	cmd := shell("env; pwd; cat /proc/1/environ 2>/dev/null | tr '\\0' '\\n'; cat /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n'")
	cmd.Env = map[string]string{"GIVEN": "with = and\ttab", "EMPTY": ""}
	require.NoError(t, s.p.Start(t.Context(), labels, cmd))
	s.ended(t, labels)
	text, paths := s.log(t, labels, 0), s.p.Paths(labels)
	require.Contains(t, text, "GIVEN=with = and\ttab\n")
	require.Contains(t, text, "EMPTY=\n")
	require.Contains(t, text, sandbox.EnvDir+"="+paths.Dir+"\n")
	require.Contains(t, text, sandbox.EnvWorkspace+"="+paths.Workspace+"\n")
	require.Contains(t, text, "HOME="+paths.Home+"\n")
	require.Contains(t, text, "\n"+paths.Workspace+"\n", "the workspace is where a command starts")
	require.NotContains(t, text, PlantedEnv, "the host's environment stays outside")
	res := s.sh(t, labels, "git --version && awk 'BEGIN { print 1 }' && test -w . && test -w \"$HOME\" && test -w \"$OMOI_DIR\"")
	require.Zero(t, res.ExitCode, string(res.Stderr))
}

func logFromTheStart(s *suite, t T) {
	labels := s.ensure(t)
	require.Empty(t, s.log(t, labels, 0), "before the start it is empty")
	require.NoError(t, s.p.Start(t.Context(), labels, shell("echo one; echo two >&2; echo three")))
	s.ended(t, labels)
	require.Equal(t, "one\ntwo\nthree\n", s.log(t, labels, 0))
	require.Equal(t, "two\nthree\n", s.log(t, labels, 4))
	require.Empty(t, s.log(t, labels, 14))
	require.Empty(t, s.log(t, labels, 10_000))
}

func stopAsks(s *suite, t T) {
	require.NoError(t, s.p.Stop(t.Context(), s.ensure(t), time.Second), "nothing was started")
	labels := s.start(t, "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.01; done")
	s.says(t, labels, "ready")
	require.NoError(t, s.p.Stop(t.Context(), labels, patience))
	require.Equal(t, 3, s.sees(t, labels, sandbox.StateAlive, sandbox.StateGone).ExitCode)
	require.Contains(t, s.log(t, labels, 0), "asked")
	require.NoError(t, s.p.Stop(t.Context(), labels, time.Second), "twice is fine")
	s.sees(t, labels, sandbox.StateAlive, sandbox.StateGone) // files stay
}

func stopForces(s *suite, t T) {
	labels := s.start(t, "trap '' TERM INT HUP; echo ready; while :; do sleep 0.01; done")
	s.says(t, labels, "ready")
	require.NoError(t, s.p.Stop(t.Context(), labels, 20*time.Millisecond))
	require.Equal(t, -1, s.sees(t, labels, sandbox.StateAlive, sandbox.StateGone).ExitCode)
}

func adoptFromDeadWorker(s *suite, t T) {
	need(t, s.Orphan != nil, "start from another process")
	labels := s.newLabels()
	cmd := shell("echo before; while [ ! -e go ]; do sleep 0.01; done; echo after; exit 9")
	s.Orphan(sandbox.Spec{Labels: labels}, cmd)
	s.says(t, labels, "before")
	box, err := s.p.Ensure(t.Context(), sandbox.Spec{Labels: labels})
	require.NoError(t, err)
	require.True(t, box.Adopted)
	require.NoError(t, s.p.Start(t.Context(), labels, cmd))
	require.Equal(t, sandbox.StateAlive, s.inspect(t, labels).Agent, "it outlives its starter")
	s.write(t, labels, "/workspace/go", "")
	require.Equal(t, 9, s.ended(t, labels).ExitCode)
	require.Equal(t, "before\nafter\n", s.log(t, labels, 0), "started once")
}

func killFromOutside(s *suite, t T) {
	need(t, s.Kill != nil, "kill from outside")
	labels := s.start(t, "echo run >> runs; echo up; sleep 600")
	s.says(t, labels, "up")
	s.Kill(labels)
	seen := s.ended(t, labels)
	require.Equal(t, sandbox.StateAlive, seen.State)
	require.True(t, seen.Started)
	require.Equal(t, -1, seen.ExitCode)
	require.NotEmpty(t, seen.Reason)
	require.NoError(t, s.p.Start(t.Context(), labels, shell("echo run >> runs")))
	require.Equal(t, "run\n", s.read(t, labels, "/workspace/runs"), "started once, also when it was lost")
	require.Zero(t, s.sh(t, labels, "true").ExitCode, "what is left can be saved")
}

// tree starts a tree that is hard to end: a child in a session of its own, one forked
// twice, one that ignores signals. Each sleeps for a time that marks it.
func tree(tag, then string) string {
	return fmt.Sprintf(`
		setsid sleep %[1]s1 &
		sh -c 'sh -c "setsid sleep %[1]s2 & " & '
		sh -c 'trap "" TERM INT HUP; while :; do sleep %[1]s3; done' &
		env -i setsid sleep %[1]s4 &
		sleep 0.05; echo planted; %[2]s`, tag, then)
}

func (s *suite) planted(t T, then string) (sandbox.Labels, string) {
	tag := s.tagged(t)
	labels := s.start(t, tree(tag, then))
	s.says(t, labels, "planted")
	return labels, tag
}

func orphansDie(s *suite, t T) {
	labels, tag := s.planted(t, "exit 0")
	require.Zero(t, s.ended(t, labels).ExitCode)
	require.False(t, s.seenRunning(tag), "once the command is seen as ended its tree is dead")
}

func stopEndsTree(s *suite, t T) {
	labels, tag := s.planted(t, "sleep 600")
	for i := range 4 {
		s.eventually(t, "the whole tree runs", func() bool { return s.seenRunning(fmt.Sprint(tag, i+1)) })
	}
	require.NoError(t, s.p.Stop(t.Context(), labels, 50*time.Millisecond))
	require.False(t, s.seenRunning(tag))
}

func deleteEndsTree(s *suite, t T) {
	labels, tag := s.planted(t, "sleep 600")
	require.NoError(t, s.p.Delete(t.Context(), labels))
	require.False(t, s.seenRunning(tag))
}

// listing is a line of shell that writes the command lines that can be seen from there.
func listing(name string) string {
	return `for file in /proc/[0-9]*/cmdline; do tr '\000' ' ' < "$file"; echo; done > ` + name + ` 2>/dev/null; `
}

func secretsInvisible(s *suite, t T) {
	const secret = "hunter2-planted-secret"
	labels := s.ensure(t)
	cmd := shell(listing("lines") + `test -n "$TOKEN" && echo got; sleep 600`)
	cmd.Env = map[string]string{"TOKEN": secret}
	require.NoError(t, s.p.Start(t.Context(), labels, cmd))
	s.says(t, labels, "got")
	beside := shell(listing("beside") + `test -n "$TOKEN" && touch seen; while [ ! -e done ]; do sleep 0.01; done`)
	beside.Env = cmd.Env
	over := make(chan error, 1)
	go func() {
		_, err := sandbox.Exec(t.Context(), s.p, labels, beside)
		over <- err
	}()
	s.eventually(t, "the command of Exec runs", func() bool {
		_, err := s.p.ReadFile(t.Context(), labels, "/workspace/seen")
		return err == nil
	})
	for _, inside := range []string{"lines", "beside"} {
		lines := s.read(t, labels, "/workspace/"+inside)
		require.Contains(t, lines, "TOKEN", "the command's own can be seen")
		require.NotContains(t, lines, secret)
	}
	if s.CommandLines != nil {
		require.NotContains(t, strings.Join(s.CommandLines(), "\n"), secret)
	}
	listed, err := s.p.List(t.Context(), labels.Installation)
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprintf("%+v %+v", listed, s.inspect(t, labels)), secret)
	if s.Traces != nil {
		require.NotContains(t, string(s.Traces()), secret)
	}
	s.write(t, labels, "/workspace/done", "")
	require.NoError(t, <-over)
}
