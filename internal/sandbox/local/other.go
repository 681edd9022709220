//go:build !linux

package local

import (
	"log/slog"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Provider does not work on this system.
type Provider struct{ sandbox.Provider }

// New returns [task.CodeUnavailable], because the local provider needs Linux.
func New(Config, *slog.Logger) (*Provider, error) {
	return nil, task.Errorf(task.CodeUnavailable, "local sandboxes need Linux. Next: run omoi worker on a Linux machine, with the same database and Temporal")
}

// Isolation returns "none".
func (*Provider) Isolation() []string { return []string{"none"} }

// Unwrapped returns "".
func (*Provider) Unwrapped() string { return "" }

// Closed returns "".
func Closed(string) (string, error) { return "", nil }

// ShimMain returns exit code 1.
func ShimMain([]string) int { return 1 }
