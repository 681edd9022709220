//go:build !linux

package local

import (
	"log/slog"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Provider does not exist on this system; [New] never returns one.
type Provider struct{ sandbox.Provider }

// New answers [task.CodeUnavailable]: the local provider needs Linux.
func New(Config, *slog.Logger) (*Provider, error) {
	return nil, task.Errorf(task.CodeUnavailable, "local sandboxes need Linux. Next: run omoi worker on a Linux machine, with the same database and Temporal")
}

// Isolation is none on this system.
func (*Provider) Isolation() []string { return []string{"none"} }

// Unwrapped is of no use on this system.
func (*Provider) Unwrapped() string { return "" }

// Closed is of no use on this system.
func Closed(string) (string, error) { return "", nil }

// ShimMain does nothing on this system and answers exit code 1.
func ShimMain([]string) int { return 1 }
