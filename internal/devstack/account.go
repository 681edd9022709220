package devstack

import (
	"fmt"
	"os"
	"os/user"
	"strconv"

	"github.com/omoi-dev/omoi/internal/task"
)

// account is a user of the machine that a child runs as.
type account struct {
	name     string
	uid, gid uint32
}

// servant is the account that PostgreSQL runs as: nil for ourselves, or, since it refuses
// root, postgres, else nobody. A uid without a passwd entry will not do.
func servant() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil is ourselves
	}
	for _, name := range []string{"postgres", "nobody"} {
		if found, err := user.Lookup(name); err == nil && found.Uid != "0" {
			return newAccount(found)
		}
	}
	return nil, task.Errorf(task.CodeInvalid, "PostgreSQL refuses to run as root, and there is no user postgres or nobody; "+
		"make one (useradd --system postgres), or set DATABASE_URL")
}

func newAccount(u *user.User) (*account, error) {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read uid of %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("read gid of %s: %w", u.Username, err)
	}
	return &account{name: u.Username, uid: uint32(uid), gid: uint32(gid)}, nil
}

// own gives a path to the account; to ourselves it belongs already.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Chown(path, int(a.uid), int(a.gid))
}
