package devstack

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"github.com/omoi-dev/omoi/internal/task"
)

// servant is the user that PostgreSQL runs as: nil for our own, or, since it refuses root, postgres, else nobody. A UID without a passwd
// entry will not do.
func servant() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil is ourselves
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil || found.Uid == "0" {
			continue
		}
		uid, uerr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gerr := strconv.ParseUint(found.Gid, 10, 32)
		if err := errors.Join(uerr, gerr); err != nil {
			return nil, fmt.Errorf("read the IDs of user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, task.Errorf(task.CodeInvalid, "PostgreSQL refuses to run as root, and there is no user postgres or nobody; "+
		"make one (useradd --system postgres), or set DATABASE_URL")
}
