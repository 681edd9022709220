package devstack

import (
	"cmp"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/omoi-dev/omoi/internal/task"
)

// obituary says why a child has ended that should have stayed. It is [syscall.EADDRINUSE]
// too if the child found a port taken.
func (c *child) obituary() error {
	said := c.said()
	cause := c.err
	if strings.Contains(said, syscall.EADDRINUSE.Error()) {
		cause = errors.Join(cause, syscall.EADDRINUSE)
	}
	return task.Errorf(task.CodeUnavailable, "%s ended as it started (%v): %s\nIts log is %s; omoi doctor looks for what could be wrong",
		c.name, c.err, lastWords(said), c.log).WithCause(cause)
}

// said is the beginning of a child's output, without that of earlier ones in the same log.
func (c *child) said() string {
	file, err := os.Open(c.log)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // only read
	content, err := io.ReadAll(io.NewSectionReader(file, c.begin, 1<<20))
	if err != nil {
		return ""
	}
	return string(content)
}

// lastWords are a panic's first line, which a long trace follows, else the last lines.
func lastWords(text string) string {
	const most = 5
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	return cmp.Or(strings.Join(lines[max(0, len(lines)-most):], "\n"), "it said nothing")
}
