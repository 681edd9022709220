package e2e_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/task"
)

// TestDevLog_HasOneLineForEachThingThatAUserCaresAbout runs one task and stops omoi dev: no line is a warning, and none is about
// requests or a library.
func TestDevLog_HasOneLineForEachThingThatAUserCaresAbout(t *testing.T) {
	t.Parallel()
	l := newLaptop(t)
	l.dev()
	done := l.submit(l.repo(), script(stepWrite, stepCommit, stepComplete))
	l.ends(done.ID, task.StatusCompleted)
	l.noLeaks()
	require.NoError(t, l.procs["dev"].cmd.Process.Signal(syscall.SIGINT))
	<-l.procs["dev"].done

	var messages []string
	for line := range strings.Lines(l.said()) {
		if _, after, logged := strings.Cut(line, " level="); logged {
			level, rest, _ := strings.Cut(after, ` msg="`)
			message, _, _ := strings.Cut(rest, `"`)
			if strings.HasPrefix(message, "local sandboxes") || message == "agent program not usable" {
				continue // what this machine lacks
			}
			require.Equal(t, "INFO", level, line)
			messages = append(messages, message)
		}
	}
	require.ElementsMatch(t, []string{
		"authentication disabled, serving loopback only", "worker started", "task created", "sandbox created", "task finished", "sandbox deleted",
	}, messages, l.said())
}
